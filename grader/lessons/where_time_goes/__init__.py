"""Cases and checks of lesson 10: where time goes."""

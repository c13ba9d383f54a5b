"""Cases and checks of lesson 23: mixture of experts."""

"""Cases and checks of lesson 11: data loading."""

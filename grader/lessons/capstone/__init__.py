"""Cases and checks of lesson 25: the capstone."""

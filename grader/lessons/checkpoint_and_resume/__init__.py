"""Cases and checks of lesson 24: checkpoint and resume."""

"""Cases and checks of lesson 20: training with 8-bit floating point."""

"""Cases and checks of lesson 22: distillation."""

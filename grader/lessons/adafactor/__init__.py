"""Cases, checks and recorders of lesson 07: Adafactor."""

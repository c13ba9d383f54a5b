"""Cases, checks and recorders of lesson 00: three forms."""

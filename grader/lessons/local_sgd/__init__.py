"""Cases, checks and recorders of lesson 16: local SGD."""

"""Cases, checks and recorders of lesson 01: where memory goes."""

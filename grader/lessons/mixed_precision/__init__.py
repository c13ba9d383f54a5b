"""Cases, checks and recorders of lesson 05: mixed precision."""

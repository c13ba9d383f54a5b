"""Cases, checks and recorders of lesson 12: attention."""

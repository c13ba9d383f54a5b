"""Cases, checks and recorders of lesson 14: collectives."""

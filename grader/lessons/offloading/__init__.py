"""Cases, checks and recorders of lesson 19: offloading."""

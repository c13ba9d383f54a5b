"""Cases, checks and recorders of lesson 15: data parallel training."""

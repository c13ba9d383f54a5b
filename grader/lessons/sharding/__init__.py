"""Cases, checks and recorders of lesson 18: sharding."""

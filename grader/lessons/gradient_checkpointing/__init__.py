"""Cases, checks and recorders of lesson 03: gradient checkpointing."""

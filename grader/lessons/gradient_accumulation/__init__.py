"""Cases, checks and recorders of lesson 02: gradient accumulation."""

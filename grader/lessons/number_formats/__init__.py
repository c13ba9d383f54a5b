"""Cases, checks and recorders of lesson 04: number formats."""

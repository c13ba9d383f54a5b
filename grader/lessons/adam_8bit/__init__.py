"""Cases, checks and recorders of lesson 08: 8-bit Adam."""

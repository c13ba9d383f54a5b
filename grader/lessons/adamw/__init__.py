"""Cases, checks and recorders of lesson 06: AdamW."""

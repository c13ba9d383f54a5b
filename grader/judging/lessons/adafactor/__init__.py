"""References and misconceptions of lesson 07: Adafactor."""

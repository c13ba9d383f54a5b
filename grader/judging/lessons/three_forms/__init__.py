"""References and misconceptions of lesson 00: three forms."""

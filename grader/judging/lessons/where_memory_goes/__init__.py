"""References and misconceptions of lesson 01: where memory goes."""

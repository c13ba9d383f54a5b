"""References and misconceptions of lesson 16: local SGD."""

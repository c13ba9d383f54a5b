"""References and misconceptions of lesson 24: checkpoint and resume."""

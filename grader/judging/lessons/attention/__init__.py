"""References and misconceptions of lesson 12: attention."""

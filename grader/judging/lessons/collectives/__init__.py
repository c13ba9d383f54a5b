"""References and misconceptions of lesson 14: collectives."""

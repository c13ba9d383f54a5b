"""References and misconceptions of lesson 13: compilation."""

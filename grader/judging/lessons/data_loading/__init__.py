"""References and misconceptions of lesson 11: data loading."""

"""References and misconceptions of lesson 10: where time goes."""

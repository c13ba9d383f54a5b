"""References and misconceptions of lesson 05: mixed precision."""

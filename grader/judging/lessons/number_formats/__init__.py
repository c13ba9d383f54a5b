"""References and misconceptions of lesson 04: number formats."""

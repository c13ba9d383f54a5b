"""References and misconceptions of lesson 02: gradient accumulation."""

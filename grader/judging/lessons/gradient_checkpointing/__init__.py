"""References and misconceptions of lesson 03: gradient checkpointing."""

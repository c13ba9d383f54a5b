"""References and misconceptions of lesson 15: data parallel training."""

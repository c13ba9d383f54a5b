"""References and misconceptions of lesson 20: training with 8-bit floating point."""

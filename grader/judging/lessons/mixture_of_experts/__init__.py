"""References and misconceptions of lesson 23: mixture of experts."""

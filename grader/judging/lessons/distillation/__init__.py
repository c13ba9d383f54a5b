"""References and misconceptions of lesson 22: distillation."""

"""References and misconceptions of lesson 19: offloading."""

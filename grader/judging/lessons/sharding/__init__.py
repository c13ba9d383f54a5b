"""References and misconceptions of lesson 18: sharding."""

"""References and misconceptions of lesson 08: 8-bit Adam."""

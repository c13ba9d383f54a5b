"""References and misconceptions of each lesson."""

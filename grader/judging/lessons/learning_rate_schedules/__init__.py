"""References and misconceptions of lesson 09: learning-rate schedules."""

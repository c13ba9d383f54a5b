"""References and misconceptions of lesson 17: model and pipeline parallel."""

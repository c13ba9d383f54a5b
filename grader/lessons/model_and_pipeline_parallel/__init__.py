"""Cases, checks and recorders of lesson 17: model and pipeline parallel."""

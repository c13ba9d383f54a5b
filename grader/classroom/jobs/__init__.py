"""Describe the runs of a class as plain data, run them here or on a cluster, and keep them."""

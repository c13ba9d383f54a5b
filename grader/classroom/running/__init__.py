"""Runs one notebook in processes of its own, and reports what its cells did."""

"""Run one notebook in processes of its own, and report what its cells did."""

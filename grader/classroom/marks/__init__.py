"""Compute the marks of a class, and write them for people and for other programs."""

"""Judges of lesson 25: the capstone."""

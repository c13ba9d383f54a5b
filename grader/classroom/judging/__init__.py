"""Verdicts on what a run emitted, made outside of the kernel."""

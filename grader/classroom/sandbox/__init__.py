"""Confine a learner's code, away from the machine, the class, and everything that judges it."""

"""Calls a learner's function on a case, records what it does, and hands the observation to a judge."""

"""Grading a class: intake, alignment, scores, report; without torch."""

"""Entry point: what a classroom's settings call for formgrader.

A classroom's `nbgrader_config.py` holds this dotted name, so it stays, whatever becomes of the code behind it.
"""

from grader.classroom.gradebook.formgrader_times import show_received_times

__all__ = ["show_received_times"]

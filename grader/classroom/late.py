"""Entry point: the step and the plugin for late work that a classroom's settings name.

A classroom's `nbgrader_config.py` holds this dotted name, so it stays, whatever becomes of the code behind it.
"""

from grader.classroom.gradebook.deadlines import PercentPerDay, StampReceived

__all__ = ["PercentPerDay", "StampReceived"]

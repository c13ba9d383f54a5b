"""Entry point: the collector of `nbgrader zip_collect` that a classroom's settings name.

A classroom's `nbgrader_config.py` holds this dotted name, so it stays, whatever becomes of the code behind it.
"""

from grader.classroom.handed_in.lms_names import LmsNames

__all__ = ["LmsNames"]

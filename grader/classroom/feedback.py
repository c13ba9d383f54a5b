"""Entry point: the exporter and the step of the feedback that a classroom's settings name.

A classroom's `nbgrader_config.py` holds this dotted name, so it stays, whatever becomes of the code behind it.
"""

from grader.classroom.pages.feedback import FeedbackExporter, TellMark

__all__ = ["FeedbackExporter", "TellMark"]

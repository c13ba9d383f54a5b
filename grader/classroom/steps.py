"""Entry point: the steps of grading that a classroom's settings name.

A classroom's `nbgrader_config.py` holds this dotted name, so it stays, whatever becomes of the code behind it.
"""

from grader.classroom.gradebook.steps import (
    ClassroomStep,
    HideHiddenTests,
    RebuildFromMaster,
    RunCells,
    SaveVerdicts,
    SubmissionExporter,
)

__all__ = ["ClassroomStep", "HideHiddenTests", "RebuildFromMaster", "RunCells", "SaveVerdicts", "SubmissionExporter"]

"""Write and read the `nbgrader_config.py` of a classroom."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

from .errors import ClassroomError
from .storage import write_text

FILE = "nbgrader_config.py"
TEMPLATE = '''\
"""nbgrader's settings for this classroom. Change what you like; `python -m grader classroom` does not overwrite it."""

from pathlib import Path

from grader.classroom.formgrader_times import show_received_times

show_received_times()
c = get_config()  # noqa: F821
classroom = str(Path(__file__).resolve().parent)
c.CourseDirectory.root = classroom
c.CourseDirectory.ignore = [".ipynb_checkpoints", "*.pyc", "__pycache__", "feedback", ".grading"]

# Grading in steps of the course: rebuild each submission from the master, run it apart, score it.
c.ClassroomStep.classroom = classroom
c.Autograde.exporter_class = "grader.classroom.steps.SubmissionExporter"
c.Autograde.sanitize_preprocessors = [
    "grader.classroom.steps.RebuildFromMaster",
    "nbgrader.preprocessors.ClearOutput",
    "nbgrader.preprocessors.OverwriteKernelspec",
    "nbgrader.preprocessors.OverwriteCells",
    "nbgrader.preprocessors.CheckCellMetadata",
]
c.Autograde.autograde_preprocessors = [
    "grader.classroom.steps.RunCells",
    "grader.classroom.steps.SaveVerdicts",
    "nbgrader.preprocessors.LimitOutput",
    "grader.classroom.late.StampReceived",
    "nbgrader.preprocessors.AssignLatePenalties",
    "nbgrader.preprocessors.CheckCellMetadata",
]
# Files that a learning management system gives out: put its zip into downloaded/<lesson>/archive/ and run
# `nbgrader zip_collect <lesson>`.
c.ZipCollectApp.collector_plugin = "grader.classroom.lms_names.LmsNames"
c.GenerateFeedback.exporter_class = "grader.classroom.feedback.FeedbackExporter"
c.GenerateFeedback.preprocessors = [
    "nbgrader.preprocessors.GetGrades",
    "grader.classroom.steps.HideHiddenTests",
    "grader.classroom.feedback.TellMark",
]

# Limits, in seconds: of one cell, and of all cells of a notebook together.
c.RunCells.cell_seconds = 120
c.RunCells.notebook_seconds = 600
# False leaves out the lesson's own demonstrations where no answer and no check could notice, as `--skip-demonstrations`
# does for one grading.
c.RunCells.run_demonstrations = True

# Late submissions cost nothing unless a plugin is chosen here; due dates are nbgrader's own, times the classroom's.
# c.AssignLatePenalties.plugin_class = "grader.classroom.late.PercentPerDay"
# c.PercentPerDay.percent_per_day = 10
# c.PercentPerDay.most_percent = 50

# The same protection for nbgrader's own steps, which run where the lists above are removed, and in `nbgrader validate`.
c.Execute.skip_cells_with_tag = "{tag}"  # no tag of a notebook's makes a check pass unseen
c.Execute.timeout = 120
c.Execute.shutdown_kernel = "immediate"
c.OverwriteCells.add_missing_cells = True
c.IgnorePattern.enabled = True  # output on stderr is no failure
c.IgnorePattern.pattern = r"[\\s\\S]*"
'''


def write_configuration(classroom: Path) -> bool:
    """Write the settings of a classroom that has none yet; return whether it was written."""
    path = classroom / FILE
    if path.exists():
        return False
    write_text(path, TEMPLATE.replace("{tag}", f"never-{secrets.token_hex(16)}"))
    return True


def read_configuration(classroom: Path) -> Any:
    """Read the settings of a classroom, as nbgrader's commands do.

    Raises:
        ClassroomError: if there are none, or they are no valid Python.
    """
    from traitlets.config.loader import PyFileConfigLoader

    path = classroom / FILE
    if not path.is_file():
        raise ClassroomError(
            f"{classroom} is no classroom: it has no {FILE}. Make one with `python -m grader classroom {classroom}`."
        )
    try:
        return PyFileConfigLoader(FILE, path=str(classroom)).load_config()
    except Exception as error:
        fault = f"{path} cannot be read: {type(error).__name__}: {error}"
        raise ClassroomError(f"{fault}. Correct it, or delete it and run `classroom` again.") from None

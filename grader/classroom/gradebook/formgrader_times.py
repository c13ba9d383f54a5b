"""Show the classroom's own times in formgrader, so that graded work is listed as graded."""

from __future__ import annotations

import datetime
from pathlib import Path

from nbgrader.apps.api import NbGraderAPI

from grader.classroom.handed_in.intake import find_submission
from grader.classroom.handed_in.received import FILE, parsed_time, received_times


def show_received_times() -> None:
    """Give nbgrader's lists the classroom's own times.

    nbgrader lists a submission as graded if its time in the gradebook is that of a `timestamp.txt` which was handed in.
    A classroom does not trust that file, and has no setting to name another.
    """
    NbGraderAPI.get_submitted_timestamp = _received_timestamp


def _received_timestamp(api: NbGraderAPI, assignment_id: str, student_id: str) -> datetime.datetime | None:
    """Return when the present content of a submission was first graded; None if it never was."""
    classroom = Path(api.coursedir.root)
    found = find_submission(classroom / "submitted", assignment_id, student_id)
    if found is None:
        return None
    text = received_times(classroom).get((student_id, assignment_id, found.digest), "")
    return parsed_time(text, f"{classroom / FILE}, {student_id}") if text else None

"""Read points, comments and lateness of a whole classroom from nbgrader's gradebook."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.classroom.base.configuration import FILE, read_configuration
from grader.classroom.base.errors import explained_errors

if TYPE_CHECKING:
    from sqlalchemy.orm import Session


Key = tuple[str, str, str]  # student, lesson, check or exercise


@dataclass(frozen=True)
class GradebookRecord:
    """What the gradebook has recorded.

    Attributes:
        points: (automatic, manual, extra) points of each check; None where there are none.
        comments: What a person wrote to an exercise.
        late: (seconds, penalty) of each (student, lesson).
    """

    points: dict[Key, tuple[float | None, float | None, float | None]] = field(default_factory=dict)
    comments: dict[Key, str] = field(default_factory=dict)
    late: dict[tuple[str, str], tuple[float, float]] = field(default_factory=dict)


def recorded_in_gradebook(classroom: Path) -> GradebookRecord:
    """Read points, comments and lateness of a whole classroom; empty where there is no gradebook yet.

    Raises:
        ClassroomError: if it is locked or damaged.
    """
    url = gradebook_url(classroom)
    if not url:
        return GradebookRecord()
    from sqlalchemy import create_engine
    from sqlalchemy.orm import Session
    from sqlalchemy.pool import NullPool

    # nbgrader's own Gradebook writes when it is opened, and leaves a connection behind where it cannot
    with explained_errors(classroom), Session(create_engine(url, poolclass=NullPool)) as session:
        return GradebookRecord(_points(session), _comments(session), _late(session))


def gradebook_url(classroom: Path) -> str:
    """Return the address of the classroom's gradebook; "" if there is none yet."""
    path = (classroom / "gradebook.db").resolve()
    configured = read_configuration(classroom).CourseDirectory if (classroom / FILE).is_file() else {}
    return str(configured["db_url"]) if "db_url" in configured else f"sqlite:///{path}" if path.exists() else ""


def _points(session: Session) -> dict[Key, tuple[float | None, float | None, float | None]]:
    from nbgrader.api import Grade

    query = _of_submissions(session, Grade, Grade.auto_score, Grade.manual_score, Grade.extra_credit)
    return {
        (student, lesson, name): (automatic, manual, extra) for student, lesson, name, automatic, manual, extra in query
    }


def _comments(session: Session) -> dict[Key, str]:
    from nbgrader.api import Comment

    query = _of_submissions(session, Comment, Comment.manual_comment).filter(Comment.manual_comment.isnot(None))
    return {(student, lesson, name): text for student, lesson, name, text in query}


def _of_submissions(session: Session, table: Any, *columns: Any) -> Any:
    """Select student, lesson, cell and these columns of the notebooks that are named like their lesson."""
    from nbgrader.api import Assignment, BaseCell, Notebook, SubmittedAssignment, SubmittedNotebook

    return (
        session.query(SubmittedAssignment.student_id, Assignment.name, BaseCell.name, *columns)
        .select_from(table)
        .join(BaseCell, table.cell_id == BaseCell.id)
        .join(SubmittedNotebook, table.notebook_id == SubmittedNotebook.id)
        .join(Notebook, SubmittedNotebook.notebook_id == Notebook.id)
        .join(SubmittedAssignment, SubmittedNotebook.assignment_id == SubmittedAssignment.id)
        .join(Assignment, SubmittedAssignment.assignment_id == Assignment.id)
        .filter(Notebook.name == Assignment.name)
    )


def _late(session: Session) -> dict[tuple[str, str], tuple[float, float]]:
    from nbgrader.api import Assignment, SubmittedAssignment, SubmittedNotebook

    query = (
        session.query(SubmittedAssignment, SubmittedNotebook.late_submission_penalty)
        .join(SubmittedNotebook, SubmittedNotebook.assignment_id == SubmittedAssignment.id)
        .join(Assignment, SubmittedAssignment.assignment_id == Assignment.id)
        .filter(Assignment.duedate.isnot(None), SubmittedAssignment.timestamp.isnot(None))
    )
    return {
        (found.student_id, found.name): (found.total_seconds_late, float(penalty or 0.0))
        for found, penalty in query
        if found.total_seconds_late > 0
    }

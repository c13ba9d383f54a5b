"""How the marks stand: what counts, what a person gave, and what came late, put onto the rows of a grading."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.classroom.base.configuration import FILE, read_configuration
from grader.classroom.base.errors import told_errors
from grader.classroom.base.storage import one_line
from grader.classroom.handed_in.received import received_times
from grader.classroom.scoring.scores import NOT_GRADABLE

from .counted import Parts, counted_parts
from .report import FAILED, Row

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

BY_HAND = "points by hand: "  # what a comment says of an override, between the check and the reason
NO_REASON = "given in formgrader"
TO_LOOK_AT = ("tampered", NOT_GRADABLE, "manual")
Key = tuple[str, str, str]  # student, lesson, check or exercise


@dataclass(frozen=True)
class Standing:
    """What the gradebook says.

    Attributes:
        points: (automatic, manual, extra) points of each check; None where there are none.
        comments: What a person wrote to an exercise.
        late: (seconds, penalty) of each (student, lesson).
    """

    points: dict[Key, tuple[float | None, float | None, float | None]] = field(default_factory=dict)
    comments: dict[Key, str] = field(default_factory=dict)
    late: dict[tuple[str, str], tuple[float, float]] = field(default_factory=dict)


def standing(classroom: Path, rows: Iterable[Row]) -> list[Row]:
    """Return the rows with the parts of `counted.csv`, and with manual grades and penalties of the gradebook.

    Raises:
        ClassroomError: if `counted.csv` names what there is not, or the gradebook cannot be read.
    """
    parts = counted_parts(classroom)
    found = read_gradebook(classroom)
    times = received_times(classroom)
    done = []
    for row in rows:
        checks = [_check_as_it_stands(row, check, parts, found) for check in row.checks]
        seconds, penalty = found.late.get((row.student, row.lesson), (0.0, 0.0))
        received = times.get((row.student, row.lesson, row.digest), row.received)
        done.append(replace(row, checks=checks, received=received, late_seconds=seconds, late_penalty=penalty))
    return done


def carry_by_hand(earlier: Iterable[Row], row: Row) -> Row:
    """Return a new row that remembers for which file the points by hand of the grading before were given."""
    old = next((old for old in earlier if (old.student, old.lesson) == (row.student, row.lesson)), None)
    given = {check["check"]: check for check in old.checks if check.get("manual")} if old else {}
    checks = [
        check | _given_as(given[check["check"]], old.digest) if old and check["check"] in given else check
        for check in row.checks
    ]
    return replace(row, checks=checks)


def _given_as(check: dict[str, Any], digest: str) -> dict[str, Any]:
    return {"given_as": [check["points"], check["because"]], "given_for": check.get("given_for", digest)}


def open_points(row: Row) -> list[dict[str, Any]]:
    """Return the checks whose points a person has yet to give or to confirm."""
    return [check for check in row.checks if _is_open(row, check)]


def _is_open(row: Row, check: dict[str, Any]) -> bool:
    if check.get("manual"):
        return is_outlived(row, check)
    return check["verdict"] in TO_LOOK_AT or check["points"] is None or bool(check.get("needs_review"))


def is_outlived(row: Row, check: dict[str, Any]) -> bool:
    """Whether points by hand were given for a file in whose place another one was handed in."""
    return bool(check.get("manual")) and check.get("given_for", row.digest) != row.digest


def _check_as_it_stands(row: Row, check: dict[str, Any], parts: Parts, found: Standing) -> dict[str, Any]:
    key = (row.student, row.lesson, check["check"])
    changed = check | {"part": parts.get(key[1:], check["part"]), "manual": False, "because": ""}
    automatic, manual, extra = found.points.get(key, (None, None, None))
    if manual is not None:
        because = _because(found.comments.get((*key[:2], check["exercise"] or check["check"]), ""), check["check"])
        points = manual + (extra or 0.0)
        is_as_before = check.get("given_as") == [points, because]
        given = {"given_as": [points, because], "given_for": check["given_for"] if is_as_before else row.digest}
        return changed | given | {"points": points, "manual": True, "because": because}
    if row.status == FAILED or key not in found.points:
        return changed
    if check["verdict"] == NOT_GRADABLE:
        return changed | {"points": None}
    return changed | {"points": (automatic or 0.0) + (extra or 0.0)}


def _because(comment: str, check: str) -> str:
    """Return the reason that the comment on the exercise keeps for this check."""
    for line in comment.splitlines():
        name, mark, reason = line.partition(BY_HAND)
        if mark and check in name:
            return one_line(reason)
    return NO_REASON


def read_gradebook(classroom: Path) -> Standing:
    """Read points, comments and lateness of a whole classroom; empty where there is no gradebook yet.

    Raises:
        ClassroomError: if it is locked or damaged.
    """
    url = gradebook_url(classroom)
    if not url:
        return Standing()
    from sqlalchemy import create_engine
    from sqlalchemy.orm import Session
    from sqlalchemy.pool import NullPool

    # nbgrader's own Gradebook writes when it is opened, and leaves a connection behind where it cannot
    with told_errors(classroom), Session(create_engine(url, poolclass=NullPool)) as session:
        return Standing(_points(session), _comments(session), _late(session))


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

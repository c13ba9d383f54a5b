"""Give points by hand, without formgrader: keep them in nbgrader's gradebook with the reason."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

from grader.classroom.base.errors import ClassroomError, explained_errors
from grader.classroom.base.row import Row, read_rows
from grader.classroom.base.storage import one_line, only_run
from grader.classroom.gradebook.course import Course, open_course
from grader.classroom.lesson.master import Check, checks_of, chosen_lessons, lessons_of, master_path, read_notebook
from grader.classroom.marks.by_hand import BY_HAND
from grader.classroom.marks.report import write_report
from grader.classroom.pages.class_report.writing import write_class_report

LONGEST_REASON = 200


def override_points(classroom: Path, student: str, lesson: str, check: str, points: float, because: str) -> Row:
    """Give the points of one check by hand; they count before the automatic ones, also when it is graded again.

    Args:
        classroom: The folder.
        student: The student's id.
        lesson: The lesson's name or number.
        check: The check's name.
        points: Between 0 and the check's own.
        because: The reason, which the student reads.

    Returns:
        The submission's new row.

    Raises:
        ClassroomError: if a name is unknown, the points are out of range, or the gradebook cannot be written.
    """
    reason = _stated_reason(because)
    course = open_course(classroom)
    lesson = chosen_lessons([lesson], lessons_of(classroom))[0]
    found = _named_check(classroom, lesson, check)
    _require_in_range(found, lesson, points)
    with only_run(classroom):
        rows = read_rows(classroom)
        if (student, lesson) not in {(row.student, row.lesson) for row in rows}:
            raise ClassroomError(_no_submission(student, lesson, rows))
        course.check_gradebook()
        with explained_errors(classroom):
            _give(course, student, lesson, found, points, reason)
        write_report(
            classroom,
            [_given_now(row, check) if (row.student, row.lesson) == (student, lesson) else row for row in rows],
        )
        course.feedback(lesson, student)
        write_class_report(classroom)
    return next(row for row in read_rows(classroom) if (row.student, row.lesson) == (student, lesson))


def _stated_reason(because: str) -> str:
    reason = one_line(because, LONGEST_REASON)
    if not reason:
        raise ClassroomError('Say why, in one sentence: --because "...". The student reads it.')
    return reason


def _require_in_range(check: Check, lesson: str, points: float) -> None:
    if not math.isfinite(points) or not 0 <= points <= check.points:
        raise ClassroomError(f"{check.name} of {lesson} gives 0 to {check.points:g} points, not {points:g}.")


def _given_now(row: Row, name: str) -> Row:
    """Return the row without the points that this check was given by hand before."""
    checks = [replace(check, given_as=None) if check.check == name else check for check in row.checks]
    return replace(row, checks=checks)


def _named_check(classroom: Path, lesson: str, name: str) -> Check:
    checks = checks_of(read_notebook(master_path(classroom, lesson)))
    found = next((check for check in checks if check.name == name), None)
    if found is None:
        known = ", ".join(f"{check.name} ({check.points:g})" for check in checks)
        raise ClassroomError(f"{lesson} has no check {name!r}. There are, with their points: {known}.")
    return found


def _no_submission(student: str, lesson: str, rows: list[Row]) -> str:
    known = sorted({row.student for row in rows if row.lesson == lesson})
    if not known:
        return f"No submission to {lesson} was graded yet: run `autograde` first."
    shown = ", ".join(known[:40]) + (f" and {len(known) - 40} more" if len(known) > 40 else "")
    return f"{student!r} has no graded submission to {lesson}. There are: {shown}."


def _give(course: Course, student: str, lesson: str, check: Check, points: float, reason: str) -> None:
    """Write points and reason, then update the late penalty."""
    from nbformat.v4 import new_notebook
    from nbgrader.api import Gradebook, MissingEntry
    from nbgrader.preprocessors import AssignLatePenalties

    url = course.directory(lesson).db_url
    with Gradebook(url) as book:
        try:
            grade = book.find_grade(check.name, lesson, lesson, student)
            comment = book.find_comment(check.exercise or check.name, lesson, lesson, student)
        except MissingEntry:
            raise ClassroomError(
                f"The gradebook has no place for {check.name} of {student}, or for its reason. "
                f"Grade {lesson} again, or give the points in formgrader."
            ) from None
        grade.manual_score, grade.needs_manual_grade = points, False
        comment.manual_comment = _comment(comment, check, f"{points:g} of {check.points:g} {BY_HAND}{reason}")
        book.db.commit()
    names = {"notebook": lesson, "assignment": lesson, "student": student, "db_url": url}
    AssignLatePenalties(config=course.config, log=course.log).preprocess(new_notebook(), {"nbgrader": names})


def _comment(comment: Any, check: Check, said: str) -> str:
    """Return the comment on the exercise with one line for this check, and what else a person wrote there."""
    others = [line for line in (comment.manual_comment or "").splitlines() if not line.startswith(f"`{check.name}`: ")]
    kept = "\n".join(others).strip()
    return "\n\n".join(text for text in (kept, f"`{check.name}`: {said}") if text)

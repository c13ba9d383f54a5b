"""A solved notebook earns all its points in a class, where other hands than the learner's watch the checks."""

from __future__ import annotations

import sys
from datetime import date
from pathlib import Path

import nbformat
import pytest

from grader.authoring.lesson import build_master, build_release, read_lesson
from grader.classroom.base.row import GRADED
from grader.classroom.commands.folder import make_classroom
from grader.classroom.commands.grading import grade_class

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "solutions").glob("*.py"))
PARTS = ("core", "further")
A_DAY = 2  # lessons; all of them take half an hour, so each day has its own


def of_today(sources: list[Path]) -> list[Path]:
    first = A_DAY * date.today().toordinal()
    return [sources[(first + place) % len(sources)] for place in range(A_DAY)]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(sys.platform != "linux", reason="steps are watched from outside on Linux")
@pytest.mark.parametrize("source", of_today(SOURCES), ids=lambda source: source.stem)
def test_a_lesson_of_the_day_earns_all_when_solved_and_nothing_untouched(source: Path, tmp_path: Path) -> None:
    make_classroom(tmp_path, [source.stem])
    for student, build in (("solved", build_master), ("untouched", build_release)):
        path = tmp_path / "submitted" / student / source.stem / f"{source.stem}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(nbformat.writes(build(source)))
    rows = {row.student: row for row in grade_class(tmp_path, with_feedback=False).rows}
    checks = read_lesson(source).checks
    parts = {part: sum(check.points for check in checks if check.is_further == (part == "further")) for part in PARTS}
    assert {row.status for row in rows.values()} == {GRADED}
    assert (rows["solved"].reason, {part: rows["solved"].points(part) for part in PARTS}) == ("", parts)
    assert [rows["untouched"].points(part) for part in PARTS] == [0, 0]



"""The page of objectives names what measures each of them, for every lesson that is released."""

from __future__ import annotations

import sys
from pathlib import Path

from grader.authoring.lesson import read_lesson
from grader.authoring.objectives import read_objectives
from grader.authoring.release import select_sources

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs/site"))
from evidence import evidence  # noqa: E402

LESSONS = [read_lesson(path) for path in select_sources(ROOT)]


def test_each_lesson_states_objectives_and_each_is_on_the_page() -> None:
    page = evidence(ROOT, LESSONS)
    for lesson in LESSONS:
        objectives = read_objectives(lesson)
        assert len(objectives) >= 3
        assert all(f"| {objective.text} |" in page for objective in objectives)


def test_each_core_check_and_its_points_are_on_the_page() -> None:
    page = evidence(ROOT, LESSONS)
    for lesson in LESSONS:
        for check in lesson.checks:
            assert check.is_further or f"`{check.name}` {check.points}" in page


def test_each_exercise_of_the_page_has_a_mistake_that_its_bank_proves() -> None:
    rows = [row for row in evidence(ROOT, LESSONS).splitlines() if "`check_" in row]
    assert all(int(row.rstrip("| ").rpartition(" ")[2]) > 0 for row in rows)

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from grader.authoring.bank_rules import bank_problems
from grader.authoring.banks import read_banks
from grader.authoring.lesson import read_lesson
from grader.authoring.validate import try_answers
from grader.authoring.validated import entries_to_try

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "solutions").glob("*.py"))


@pytest.mark.timeout(3600)  # a lesson that changed since its validation runs all of its banks
@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_each_answer_earns_what_it_should_and_is_reported_as_declared(source: Path) -> None:
    lesson = read_lesson(source)
    assert [str(problem) for problem in bank_problems(lesson, read_banks(ROOT, lesson))] == []
    day = date.today().toordinal()
    report = try_answers(lesson, entries_to_try(ROOT, lesson, day), processes=1)
    assert [str(problem) for problem in report.problems] == [], f"of the answers of day {day}"

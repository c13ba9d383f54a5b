from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from grader.authoring.bank_rules import bank_problems
from grader.authoring.banks import read_banks
from grader.authoring.forks import ForkPool
from grader.authoring.lesson import read_lesson
from grader.authoring.validate import try_answers, warm_pool
from grader.authoring.validated import entries_to_try

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "solutions").glob("*.py"))


@pytest.fixture(scope="module")
def pool() -> Iterator[ForkPool]:
    with warm_pool([read_lesson(source) for source in SOURCES], processes=1) as warm:
        yield warm


@pytest.mark.timeout(3600)  # a lesson that changed since its validation runs all of its banks
@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_each_answer_earns_what_it_should_and_is_reported_as_declared(source: Path, pool: ForkPool) -> None:
    lesson = read_lesson(source)
    assert [str(problem) for problem in bank_problems(lesson, read_banks(ROOT, lesson))] == []
    day = date.today().toordinal()
    report = try_answers(lesson, entries_to_try(ROOT, lesson, day), pool)
    assert [str(problem) for problem in report.problems] == [], f"of the answers of day {day}"

"""Tables name the first misconception that the evidence shows, and refuse entries that cannot be right."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from grader.judging.misconceptions import Misconception, Table, TableError
from grader.verdict import UNRECOGNISED, Verdict


@dataclass(frozen=True)
class Updates:
    seen: int
    k: int


NONE = Misconception[Updates]("no_update", "You never step.", shown_by=lambda updates: not updates.seen)
FEW = Misconception[Updates](
    "few_updates",
    "You step {seen} times. Step after {k} micro-batches.",
    shown_by=lambda updates: updates.seen < 3,
    measured="{seen} of 3 updates",
)


def test_the_first_misconception_that_is_shown_is_named():
    assert Table(NONE, FEW).find(Updates(0, 4)) is NONE
    assert Table(FEW, NONE).find(Updates(0, 4)) is FEW
    assert Table(NONE, FEW).find(Updates(3, 4)) is None


def test_texts_name_attributes_of_the_evidence():
    verdict = Table(NONE, FEW).judge(Updates(2, 4), "3 updates", "2 updates")
    assert verdict == Verdict(
        "few_updates", "3 updates", "2 of 3 updates", "You step 2 times. Step after 4 micro-batches."
    )


def test_texts_of_the_judge_are_not_filled_in():
    verdict = Table(NONE).judge(Updates(0, 4), "{seen}", "{k.__class__}")
    assert (verdict.expected, verdict.measured) == ("{seen}", "{k.__class__}")


def test_a_part_is_explained_where_the_whole_shows_nothing():
    table = Table(NONE, FEW)
    verdict = table.explain(Updates(3, 4), Updates(2, 4), expected="3", measured="2", otherwise="the loop")
    assert verdict.code == "few_updates"


def test_what_shows_nothing_is_unrecognised():
    verdict = Table(NONE).explain(Updates(3, 4), expected="3", measured="2", otherwise="Look at the loop.")
    assert verdict == Verdict(UNRECOGNISED, "3", "2", "Look at the loop.")


@pytest.mark.parametrize(
    ("misconceptions", "message"),
    [
        ((NONE, NONE), "share the code 'no_update'"),
        ((NONE, Misconception("other", NONE.diagnosis, shown_by=bool)), "share the diagnosis 'You never step.'"),
        (
            (Misconception("nothing", "You do nothing."),),
            "'nothing' needs one of `edits`, `on` and `shown_by`, and has 0",
        ),
        ((Misconception("both", "You do both.", {"a": "b"}, shown_by=bool),), "'both' needs one of .* has 2"),
    ],
)
def test_a_table_that_cannot_be_right_is_refused(misconceptions, message):
    with pytest.raises(TableError, match=message):
        Table(*misconceptions)


def test_a_table_without_a_reference_runs_no_edits():
    with pytest.raises(TableError, match="only a ReferenceTable"):
        Table(Misconception[object]("edited", "You edit.", {"a": "b"})).find(None)

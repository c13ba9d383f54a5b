from __future__ import annotations

from dataclasses import replace

import pytest

from grader.cases.adamw import count_cases, state_cases
from grader.judges.adamw import judge_state_bytes, judge_state_count
from grader.judges.adamw.counted import _KNOWN, _leaves, right
from grader.judges.adamw.state_size import MISCOUNTS, RIGHT
from grader.observation import Observation

SEEDS = (0, 20011)


def judge_predictions(count, seed: int):
    return judge_state_bytes(Observation({"predicted_bytes": [count.of(case) for case in state_cases(seed)]}), seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_right_bytes_pass(seed: int) -> None:
    assert judge_predictions(RIGHT, seed).is_passed


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("miscount", MISCOUNTS, ids=lambda miscount: miscount.code)
def test_every_miscount_is_named(miscount, seed: int) -> None:
    assert judge_predictions(replace(RIGHT, **miscount.changes), seed).code == miscount.code


def test_two_miscounts_are_named_by_the_first() -> None:
    count = replace(RIGHT, counters="none", has_frozen=True)
    assert judge_predictions(count, 0).code == "counters_left_out"


def test_the_state_without_counters_is_104_numbers_short() -> None:
    distilbert = state_cases(0)[0]
    assert RIGHT.of(distilbert) - replace(RIGHT, counters="none").of(distilbert) == 4 * 104


def judge_counts(count, seed: int, copied_bytes: int = 0):
    counted = [list(count(_leaves(case))) for case in count_cases(seed)]
    return judge_state_count(Observation({"counted": counted, "copied_bytes": [copied_bytes] * len(counted)}), seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_right_count_passes_unless_it_copies(seed: int) -> None:
    assert judge_counts(right, seed).is_passed
    assert judge_counts(right, seed, copied_bytes=4).code == "state_copied"


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("code", "count"), [(code, count) for code, count, _ in _KNOWN])
def test_every_wrong_count_is_named(code: str, count, seed: int) -> None:
    assert judge_counts(count, seed).code == code


def test_counts_of_the_visible_case_are_named() -> None:
    counted = [list(right(_leaves(case))) for case in count_cases(0)]
    assert judge_state_count(Observation({"counted": counted, "copied_bytes": [0] * 4}), 1).code == (
        "visible_case_hard_coded"
    )

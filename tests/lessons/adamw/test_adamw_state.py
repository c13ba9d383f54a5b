from __future__ import annotations

from dataclasses import replace

import pytest

from grader.judging.lessons.adamw.count_ways import KNOWN, leaves_of, right
from grader.judging.lessons.adamw.counted import judge_state_count
from grader.judging.lessons.adamw.state_size import MISCOUNTS, RIGHT, judge_state_bytes
from grader.lessons.adamw.counted import count_cases
from grader.lessons.adamw.state import state_cases
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


def test_distilbert_for_all_is_named() -> None:
    distilbert, *others = state_cases(0)
    names = [distilbert.optimizer, *(case.optimizer for case in others)]
    answers = [RIGHT.of(replace(distilbert, optimizer=name)) for name in names]
    assert judge_state_bytes(Observation({"predicted_bytes": answers}), 0).code == "distilbert_for_all"


def test_a_small_miss_is_told_in_bytes() -> None:
    assert judge_predictions(replace(RIGHT, counter_bytes=8), 0).measured.endswith("416 bytes too many")


def judge_counts(count, seed: int, copied_bytes: int | list[int] = 0, **facts):
    counted = [list(count(leaves_of(case))) for case in count_cases(seed)]
    clean = {
        "copied_bytes": [copied_bytes] * 4 if isinstance(copied_bytes, int) else copied_bytes,
        "is_changed": [False] * 4,
        "is_emptied": [False] * 4,
        "moves": [[]] * 4,
    }
    return judge_state_count(Observation({"counted": counted} | clean | facts), seed)


def test_a_count_leaves_the_state_as_it_is_and_where_it_is() -> None:
    assert judge_counts(right, 0, is_changed=[False, True, False, False]).code == "state_changed"
    assert judge_counts(right, 0, is_emptied=[True] * 4).code == "state_emptied"
    assert judge_counts(right, 0, moves=[["cpu"], [], [], []]).code == "state_moved"


def test_copies_of_strided_state_are_named() -> None:
    assert judge_counts(right, 0, copied_bytes=[0, 96, 0, 0]).code == "strided_state_copied"


def test_copies_that_spoil_the_count_are_named() -> None:
    assert judge_counts(lambda leaves: (3, 5 if leaves.is_packed else 7), 0, copied_bytes=8).code == "copies_counted"


@pytest.mark.parametrize("seed", SEEDS)
def test_the_right_count_passes_unless_it_copies(seed: int) -> None:
    assert judge_counts(right, seed).is_passed
    assert judge_counts(right, seed, copied_bytes=4).code == "state_copied"


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("code", "count"), [(code, count) for code, count, _ in KNOWN])
def test_every_wrong_count_is_named(code: str, count, seed: int) -> None:
    assert judge_counts(count, seed).code == code


def test_counts_of_the_visible_case_are_named() -> None:
    visible = iter(count_cases(0))
    assert judge_counts(lambda _: right(leaves_of(next(visible))), 1).code == "visible_case_hard_coded"

"""Answers about drifted ranks are told by what they miss, and what they cost."""

from __future__ import annotations

import pytest

from grader.cases.data_parallel import AgreementCase, agreement_cases
from grader.judges.data_parallel import judge_data_parallel_agreement
from grader.observation import Observation

SEEDS = (0, 20011)


def answers(seed: int, answer, calls=(("all_reduce", 64),), is_changed: bool = False) -> Observation:
    settings = []
    for size in (2, 3):
        cases = [case for case in agreement_cases(seed) if case.world_size == size]
        settings.append(
            [
                {
                    "answers": [answer(case, rank) for case in cases],
                    "calls": [list(map(list, calls)) for _ in cases],
                    "changed": [is_changed] * len(cases),
                }
                for rank in range(size)
            ]
        )
    return Observation({"settings": settings})


def missing(*kinds: str):
    return lambda case, rank: case.is_equal or case.kind in kinds


def test_right_answers_pass() -> None:
    for seed in SEEDS:
        assert judge_data_parallel_agreement(answers(seed, missing()), seed).is_passed


def no_word_from_others(case: AgreementCase, rank: int) -> bool:
    return case.is_equal or rank != case.odd_rank


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (lambda case, rank: True, "always_true"),
        (lambda case, rank: False, "always_false"),
        (lambda case, rank: not case.is_equal, "equal_ranks_doubted"),
        (no_word_from_others, "rank_zero_not_told"),
        (lambda case, rank: case.is_equal or rank not in (0, case.odd_rank), "only_the_two_know"),
        (missing("swapped"), "order_forgotten"),
        (missing("swapped", "negated"), "size_compared"),
        (missing("last number"), "tolerance_too_wide"),
        (missing("frozen"), "frozen_left_out"),
        (missing("negated"), "differences_missed"),
        (lambda case, rank: "NoneType", "returned_none"),
        (lambda case, rank: "float", "no_truth_value"),
    ],
)
def test_a_wrong_answer_is_told(seed: int, answer, code: str) -> None:
    assert judge_data_parallel_agreement(answers(seed, answer), seed).code == code


def test_weights_that_are_sent_or_changed_are_told() -> None:
    whole = [("all_gather", 10**6)]
    assert judge_data_parallel_agreement(answers(0, missing(), whole), 0).code == "weights_sent"
    assert judge_data_parallel_agreement(answers(0, missing(), is_changed=True), 0).code == "weights_changed"

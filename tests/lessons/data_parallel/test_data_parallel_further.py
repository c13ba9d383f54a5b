"""Answers about drifted ranks are told by what they miss, and what they cost."""

from __future__ import annotations

import pytest
from grader.judging.lessons.data_parallel.agreement_causes import is_equal

from grader.judging.lessons.data_parallel.agreement import judge_data_parallel_agreement
from grader.lessons.data_parallel.agreement import EQUAL_WITH_NAN, AgreementCase, agreement_cases, one_of
from grader.observation import Observation

SEEDS = (0, 20011)
UNCHANGED = (False, False, False)
WIDE = 256  # bits of a digest that vary


def answers(
    seed: int, answer, calls=(("all_reduce", 64),), changed=UNCHANGED, varying_bits: int = WIDE, salted=(), formats=()
) -> Observation:
    settings = []
    for size in (2, 3):
        cases = [case for case in agreement_cases(seed) if case.world_size == size]
        common = {"calls": [list(map(list, calls)) for _ in cases], "changed": [list(changed)] * len(cases)}
        common |= {"varying_bits": varying_bits, "salted": list(salted), "formats": list(formats)}
        settings.append([common | {"answers": [answer(case, rank) for case in cases]} for rank in range(size)])
    return Observation({"settings": settings})


def missing(*kinds: str, doubted: tuple[str, ...] = ()):
    return lambda case, rank: (is_equal(case) or case.kind in kinds) and case.kind not in doubted


def parameters(*places: int):
    """Miss every difference that lies in some parameters."""
    inside = {"first number": {0}, "last number": {2}, "swapped": {2}, "negated": {2}, "exchanged": {2, 4}}
    inside |= {kind: {4} for kind in ("last bits", "negative zero", "not a number")}
    kinds = [kind for kind, where in inside.items() if where <= set(places)]
    return missing(*kinds, *map(one_of, places))


def test_right_answers_pass() -> None:
    for seed in SEEDS:
        assert judge_data_parallel_agreement(answers(seed, missing()), seed).is_passed


def no_word_from_others(case: AgreementCase, rank: int) -> bool:
    return is_equal(case) or rank != case.odd_rank


def rank_not_compared(odd_rank: int):
    return lambda case, rank: is_equal(case) or (case.world_size == 3 and case.odd_rank == odd_rank)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (lambda case, rank: False, "always_false"),
        (lambda case, rank: not is_equal(case), "equal_ranks_doubted"),
        (no_word_from_others, "ranks_answer_differently"),
        (lambda case, rank: is_equal(case) or rank == 0, "rank_zero_not_told"),
        (lambda case, rank: is_equal(case) or rank not in (0, case.odd_rank), "only_the_two_know"),
        (rank_not_compared(1), "rank_left_out"),
        (rank_not_compared(2), "rank_left_out"),
        (missing("swapped", "exchanged", "negative zero"), "order_forgotten"),
        (missing("swapped", "last bits", "exchanged", doubted=(EQUAL_WITH_NAN,)), "sum_compared"),
        (missing("swapped", "negated", "exchanged"), "size_compared"),
        (missing("swapped", "negated", "last bits", "exchanged"), "size_compared_roughly"),
        (missing("negated"), "signs_left_out"),
        (missing("last bits"), "tolerance_too_wide"),
        (missing("last number"), "last_number_left_out"),
        (missing("first number"), "first_number_left_out"),
        (missing("exchanged"), "parameters_exchanged"),
        (missing("negative zero"), "zeros_alike"),
        (missing("not a number"), "nan_replaced"),
        (missing("negative zero", doubted=(EQUAL_WITH_NAN,)), "weights_as_numbers"),
        (missing(doubted=(EQUAL_WITH_NAN,)), "nan_unlike_itself"),
        (lambda case, rank: is_equal(case) or (case.kind == "not a number" and rank == 0), "nan_compared"),
        (missing("swapped", "first number"), "differences_missed"),
        *((parameters(place), "parameter_left_out") for place in range(6)),
        (parameters(0, 1), "frozen_left_out"),
        (parameters(1, 3, 5), "biases_left_out"),
        (parameters(2, 3, 4, 5), "parameters_left_out"),
        (parameters(1, 2, 3, 4, 5), "one_parameter_only"),
        (missing(*map(one_of, range(6))), "numbers_left_out"),
        (missing(*map(one_of, (0, 2, 4)), "last bits", "negative zero", "not a number"), "text_compared"),
        (lambda case, rank: "NoneType", "returned_none"),
        (lambda case, rank: "float", "no_truth_value"),
    ],
)
def test_a_wrong_answer_is_told(seed: int, answer, code: str) -> None:
    assert judge_data_parallel_agreement(answers(seed, answer), seed).code == code


@pytest.mark.parametrize(
    ("facts", "code"),
    [
        ({"calls": ()}, "always_true"),
        ({"varying_bits": 0}, "digest_of_no_weights"),
        ({}, "compared_with_itself"),
    ],
)
def test_a_function_that_always_agrees_is_told_by_what_it_sends(facts: dict, code: str) -> None:
    run = answers(0, lambda case, rank: True, **facts)
    assert judge_data_parallel_agreement(run, 0).code == code


def test_a_salted_hash_is_told() -> None:
    run = answers(0, lambda case, rank: False, salted=("bytes",))
    verdict = judge_data_parallel_agreement(run, 0)
    assert verdict.code == "python_hash" and "bytes" in verdict.look_at
    assert judge_data_parallel_agreement(answers(0, missing(), salted=("str",)), 0).is_passed


def test_weights_that_are_sent_or_changed_are_told() -> None:
    whole = [("all_gather", 10**6)]
    assert judge_data_parallel_agreement(answers(0, missing(), whole), 0).code == "weights_sent"
    by_numbers = missing("negative zero")  # as a comparison of all weights misses it
    assert judge_data_parallel_agreement(answers(0, by_numbers, whole), 0).code == "weights_sent"
    for part, code in enumerate(("weights_changed", "trained_parameters_changed", "gradients_changed")):
        changed = [index == part for index in range(3)]
        assert judge_data_parallel_agreement(answers(0, missing(), changed=changed), 0).code == code


@pytest.mark.parametrize(
    ("bits", "formats", "code"),
    [
        (8, ["int64"], "digest_too_short"),
        (11, ["float32"], "digest_too_short"),
        (16, ["int64"], "digest_too_short"),
        (24, ["int64"], "digest_below_32_bits"),
        (31, ["int64"], "digest_below_32_bits"),
        (26, ["float32"], "digest_in_float32"),
        (32, ["int64"], "passed"),
        (256, ["float32"], "passed"),
    ],
)
def test_a_short_digest_is_told(bits: int, formats: list[str], code: str) -> None:
    run = answers(0, missing(), varying_bits=bits, formats=formats)
    assert judge_data_parallel_agreement(run, 0).code == code

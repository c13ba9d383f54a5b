from __future__ import annotations

import pytest

from grader.judging.lessons.collectives.cost_formulas import cost_of
from grader.judging.lessons.collectives.cost_slips import SLIPS
from grader.judging.lessons.collectives.cost_units import WHOLE
from grader.judging.lessons.collectives.costs import judge_all_reduce_costs
from grader.lessons.collectives.costs import CostCase, cost_cases
from grader.observation import Observation

SEEDS = (0, 20011)


def judged(predict, seed: int):
    return judge_all_reduce_costs(Observation({"predicted": [list(predict(case)) for case in cost_cases(seed)]}), seed)


def slipped(slip, case):
    rounds, size = cost_of(case)
    if case.algorithm != slip.algorithm:
        return rounds, size
    value = slip.formula(case.world_size)
    return (value, size) if slip.is_rounds else (rounds, value * case.tensor_bytes)


@pytest.mark.parametrize(
    ("algorithm", "rounds", "tensors"), [("naive", 14, 7), ("tree", 6, 3), ("butterfly", 3, 3), ("ring", 14, 1.75)]
)
def test_eight_ranks_cost_what_the_lesson_says(algorithm, rounds, tensors):
    assert cost_of(CostCase(algorithm, 8, 800)) == (rounds, tensors * 800)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_formulas_pass(seed):
    assert judged(cost_of, seed).is_passed


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("slip", SLIPS, ids=lambda slip: f"{slip.code}-{slip.is_rounds}")
def test_every_slip_is_named_with_a_case_of_its_algorithm(slip, seed):
    verdict = judged(lambda case: slipped(slip, case), seed)
    assert verdict.code == slip.code and f"for {slip.algorithm}," in verdict.expected


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("code", "formula"), [(code, formula) for code, formula, _ in WHOLE])
def test_every_mistake_about_all_four_is_named(code, formula, seed):
    assert judged(formula, seed).code == code


def test_answers_for_other_settings_are_named():
    assert judged(lambda case: (6, 24576), 0).code == "same_for_all"
    fixed = dict(zip(cost_cases(20011), map(cost_of, cost_cases(0)), strict=True))
    assert judged(fixed.__getitem__, 20011).code == "visible_case_hard_coded"

    def of_eight(case):
        of_one_byte = cost_of(CostCase(case.algorithm, 8, 1))
        return of_one_byte[0], of_one_byte[1] * case.tensor_bytes

    assert judged(of_eight, 0).code == "right_for_eight_ranks"


def test_a_slip_in_the_rounds_of_one_and_the_bytes_of_another_is_told_one_after_the_other():
    first, second = SLIPS[0], next(slip for slip in SLIPS if slip.code == "ring_half_bytes")

    def both(case):
        return slipped(second if case.algorithm == "ring" else first, case)

    assert judged(both, 0).code == first.code

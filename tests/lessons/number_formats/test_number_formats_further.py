"""The judges of compensated sums and of moments hold for right answers and name wrong ones."""

from __future__ import annotations

import pytest
import torch

from grader.judging.lessons.number_formats import compensation, moments
from grader.judging.lessons.number_formats.compensation import PAIR_SPACINGS, TOTAL_SPACINGS, Sums, add_compensated
from grader.judging.lessons.number_formats.rounding import round_to_format
from grader.lessons.number_formats.compensation import sum_cases
from grader.lessons.number_formats.moments import FATES, moment_cases
from grader.observation import Observation
from grader.verdict import UNRECOGNISED


def add_in_fp32(total, lost, value):
    exact = total.float() + lost.float() + value.float()
    return exact.to(total.dtype), (exact - exact.to(total.dtype).float()).to(total.dtype)


def add_all(step, seed):
    """Return what each case ends in, with one way to add."""
    ends = []
    for case in sum_cases(seed):
        total, values = case.make_tensors()
        lost = torch.zeros_like(total)
        for value in values:
            total, lost = step(total, lost, value)
        ends.append(Sums(case, total, lost))
    return ends


def judge_sums(step=add_compensated, change=lambda one: (one.total, one.lost), seed=0):
    tensors = {}
    for index, one in enumerate(add_all(step, seed)):
        total, lost = change(one)
        tensors |= {f"{index}.total": total, f"{index}.lost": lost}
    return compensation.judge_compensated_sum(Observation(tensors=tensors), seed)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("step", [add_compensated, add_in_fp32])
def test_compensated_sums_keep_well_within_the_tolerances(step, seed):
    ends = add_all(step, seed)
    assert max(one.total_error for one in ends) < 0.8 * TOTAL_SPACINGS
    assert max(one.pair_error for one in ends) < 0.8 * PAIR_SPACINGS


@pytest.mark.parametrize("fill", [0.0, torch.nan, torch.inf])
def test_right_totals_with_another_lost_are_named(fill):
    verdict = judge_sums(change=lambda one: (one.total, torch.full_like(one.lost, fill)))
    assert verdict.code == "lost_is_not_what_is_missing"


@pytest.mark.parametrize("fill", [torch.nan, torch.inf])
def test_totals_that_are_no_numbers_fail(fill):
    verdict = judge_sums(change=lambda one: (torch.full_like(one.total, fill), one.lost))
    assert verdict.code == UNRECOGNISED


def test_sums_that_stall_in_another_way_are_named_so():
    assert judge_sums(lambda total, lost, value: (total + value, torch.ones_like(lost))).code == "stalled"


def test_the_lessons_sum_ends_at_the_nearest_number():
    total, lost, value = (torch.tensor([number], dtype=torch.bfloat16) for number in (0.0, 0.0, 0.01))
    for _ in range(1000):
        total, lost = add_compensated(total, lost, value)
    assert total.item() == 10.0


def fate_by_trial(case):
    """Multiply and round every number from 1 up to 2; the fate is what happens to all of them."""
    count = 2**case.mantissa_bits
    numbers = [1 + mantissa / count for mantissa in range(count)]
    is_still = [round_to_format(number * case.beta2, 8, case.mantissa_bits) == number for number in numbers]
    return "frozen" if all(is_still) else "stalls" if any(is_still) else "decays"


@pytest.mark.parametrize("seed", range(6))
def test_the_rule_agrees_with_a_trial_of_all_mantissas_and_each_fate_is_right_three_times(seed):
    truths = moments.FATE.truths(seed)
    assert truths == [fate_by_trial(case) for case in moment_cases(seed)]
    assert sorted(truths) == sorted(3 * FATES)


def test_stochastic_rounding_keeps_the_mean_and_numbers_of_the_format():
    values = torch.full((20_000,), 1 + 0.3 * 2.0**-7)
    rounded = moments.round_stochastically(values, torch.rand(20_000, generator=torch.Generator().manual_seed(0)))
    assert set(rounded.tolist()) == {1.0, 1 + 2.0**-7}
    assert abs(rounded.double().mean() - values[0]) < 0.02 * 2.0**-7
    exact = torch.tensor([0.0, 1.5, -3.0])
    assert torch.equal(moments.round_stochastically(exact, torch.zeros(3)), exact.bfloat16())

"""The judges of compensated sums, chosen formats and lost values hold for right answers and name wrong ones."""

from __future__ import annotations

import pytest
import torch

from grader.judging.lessons.number_formats import choice, compensation
from grader.judging.lessons.number_formats.compensation import PAIR_SPACINGS, TOTAL_SPACINGS, Sums, add_compensated
from grader.judging.lessons.number_formats.loss_misconceptions import RULES
from grader.judging.lessons.number_formats.loss_rules import loss_of, name_by
from grader.judging.lessons.number_formats.losses import judge_lost_values
from grader.lessons.number_formats.bit_format import FP16
from grader.lessons.number_formats.compensation import sum_cases
from grader.lessons.number_formats.rounding import loss_cases
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


@pytest.mark.parametrize("seed", range(6))
def test_every_format_is_the_right_choice_for_some_tensor(seed):
    assert set(choice.TABLE.truths(seed)) == {"e4m3", "e5m2", "fp16", "bf16", "fp32"}


def test_unexplained_choices_are_not_given_a_name():
    chosen = choice.TABLE.truths(0)[::-1]
    assert choice.judge_chosen_format(Observation({"chosen": chosen}), 0).code == UNRECOGNISED


def judge_losses(name, seed=0):
    named = [[name(value, case.bit_format) for value in case.values] for case in loss_cases(seed)]
    return judge_lost_values(Observation({"named": named}), seed)


@pytest.mark.parametrize("seed", range(4))
def test_thresholds_and_rounding_agree_on_what_is_lost(seed):
    assert judge_losses(lambda value, bit_format: name_by(value, bit_format, {}), seed).is_passed
    assert judge_losses(loss_of, seed).is_passed


def test_every_wrong_threshold_is_named():
    for code, rules in RULES:
        verdict = judge_losses(lambda value, bit_format, rules=rules: name_by(value, bit_format, rules), 20011)
        assert verdict.code == code


@pytest.mark.parametrize(
    ("value", "lost"),
    [(65519.0, "precision"), (65520.0, "range"), (2.0**-24, "nothing"), (2.0**-25, "range"), (0.1, "precision")],
)
def test_what_the_values_of_the_lesson_lose(value, lost):
    assert loss_of(value, FP16) == lost

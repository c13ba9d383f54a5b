"""The judges of the compensated sum and of the chosen format name every misconception."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
import torch
from number_format_answers import SEEDS

from grader.judging.lessons.number_formats.choice import judge_chosen_format
from grader.judging.lessons.number_formats.choice_mistakes import MISTAKES
from grader.judging.lessons.number_formats.choice_truth import choose
from grader.judging.lessons.number_formats.choice_ways import first_that, strictly_below
from grader.judging.lessons.number_formats.compensation import (
    PAIR_SPACINGS,
    TOTAL_SPACINGS,
    Sums,
    judge_compensated_sum,
    run_steps,
)
from grader.judging.lessons.number_formats.compensation_mistakes import LOOK_AT, STEPS, Step, compensated
from grader.lessons.number_formats.choice import choice_cases
from grader.lessons.number_formats.compensation import SumCase, sum_cases
from grader.observation import Observation, decode_observation, encode_observation
from grader.verdict import UNRECOGNISED, Verdict


def in_registers(total, lost, value):
    exact = total.float() + lost.float() + value.float()
    return exact.to(total.dtype), (exact - exact.to(total.dtype).float()).to(total.dtype)


def judge_sums(seed: int, step: Step, change: Callable[[Sums], tuple] = lambda one: (one.total, one.lost)) -> Verdict:
    tensors = {}
    for index, case in enumerate(sum_cases(seed)):
        total, lost = change(run_steps(case, step))
        tensors |= {f"{index}.total": total, f"{index}.lost": lost}
    return judge_compensated_sum(decode_observation(encode_observation(Observation(tensors=tensors))), seed)


@pytest.mark.parametrize("seed", range(12))
def test_compensated_sums_keep_well_within_the_tolerances(seed):
    for step in (compensated, in_registers):
        assert judge_sums(seed, step).is_passed
        ends = [run_steps(case, step) for case in sum_cases(seed)]
        assert max(one.total_error for one in ends) < 0.8 * TOTAL_SPACINGS
        assert max(one.pair_error for one in ends) < 0.8 * PAIR_SPACINGS


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("code", "step"), STEPS[1:])
def test_every_wrong_addition_is_named(code, step, seed):
    assert judge_sums(seed, step).code == code
    assert LOOK_AT[code]


def test_a_right_total_without_what_is_lost_fails():
    verdict = judge_sums(0, compensated, lambda one: (one.total, torch.zeros_like(one.lost)))
    assert verdict.code == "lost_is_not_what_is_missing"


@pytest.mark.parametrize("fill", [torch.nan, torch.inf])
def test_totals_that_are_no_numbers_fail(fill):
    verdict = judge_sums(0, compensated, lambda one: (torch.full_like(one.total, fill), one.lost))
    assert verdict.code == UNRECOGNISED
    verdict = judge_sums(0, compensated, lambda one: (one.total, torch.full_like(one.lost, fill)))
    assert verdict.code == "lost_is_not_what_is_missing"


def test_sums_that_stall_in_another_way_are_told_so():
    assert judge_sums(0, lambda total, lost, value: (total + value, torch.ones_like(lost))).code == "stalled"


def test_sums_in_another_format_are_refused():
    with pytest.raises(ValueError, match="no tensor of"):
        judge_sums(0, compensated, lambda one: (one.total.float(), one.lost))


def shifted(one: Sums) -> tuple[torch.Tensor, torch.Tensor]:
    return one.total * 2, one.lost


def test_unexplained_sums_are_not_given_a_name():
    assert judge_sums(0, compensated, shifted).code == UNRECOGNISED


def test_the_lessons_sum_ends_at_the_nearest_number():
    case = SumCase("the lesson's", torch.bfloat16, 1000, 1, 0.0, 0.01, 0.0, 0)
    total, lost = torch.zeros(1, dtype=case.dtype), torch.zeros(1, dtype=case.dtype)
    for _ in range(case.steps):
        total, lost = compensated(total, lost, torch.full((1,), 0.01, dtype=case.dtype))
    assert total.item() == 10.0


def judge_choices(seed: int, chosen: Sequence[str | None]) -> Verdict:
    return judge_chosen_format(Observation({"chosen": list(chosen)}), seed)


def choices(seed: int, way=choose) -> list[str | None]:
    return [way(case.make_values(), case.tolerance) for case in choice_cases(seed)]


@pytest.mark.parametrize("seed", range(12))
def test_right_choices_pass_and_use_all_formats(seed):
    assert judge_choices(seed, choices(seed)).is_passed
    assert set(choices(seed)) == {"e4m3", "e5m2", "fp16", "bf16", "fp32"}


@pytest.mark.parametrize("seed", (*SEEDS, 1, 2, 3))
@pytest.mark.parametrize(("code", "look_at", "way"), MISTAKES, ids=lambda part: part if isinstance(part, str) else "")
def test_every_wrong_choice_is_named(code, look_at, way, seed):
    assert judge_choices(seed, choices(seed, way)).code == code


def test_choices_of_the_visible_tensors_are_named_on_others():
    assert judge_choices(20011, choices(0)).code == "visible_case_hard_coded"


def test_a_loop_that_finds_no_format_may_be_followed_by_fp32():
    chosen = [name or "fp32" for name in choices(0, first_that(strictly_below))]
    assert judge_choices(0, chosen).code == "tolerance_itself_refused"


def test_unexplained_choices_are_not_given_a_name():
    assert judge_choices(0, choices(0)[::-1]).code == UNRECOGNISED

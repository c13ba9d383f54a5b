from __future__ import annotations

import pytest
import torch

from grader.lessons.adafactor.elements import elements_cases
from grader.lessons.adafactor.forms import adafactor_forms_cases
from grader.lessons.adafactor.moments import MOMENT_STEPS, moment_cases
from grader.lessons.adafactor.rates import FORMS, rate_cases
from grader.lessons.adafactor.updates import STEPS, adafactor_cases

SEEDS = (0, 7, 20011)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_case_is_a_function_of_its_seed(seed: int) -> None:
    for make in (elements_cases, moment_cases, adafactor_cases, adafactor_forms_cases, rate_cases):
        assert make(seed) == make(seed)
        assert make(seed) != make(seed + 1)
    for one, other in zip(moment_cases(seed), moment_cases(seed), strict=True):
        assert torch.equal(one.gradient(3), other.gradient(3))


@pytest.mark.parametrize("seed", SEEDS)
def test_elements_are_asked_of_shapes_that_the_lesson_never_shows(seed: int) -> None:
    kinds = [kind for case in elements_cases(seed)[2:] for kind in case.tensors]
    assert {len(kind.shape) for kind in kinds} == {0, 1, 2, 3, 4}
    assert any(not kind.is_trained for kind in kinds)
    assert any(kind.dtype == torch.bfloat16 for kind in kinds)
    assert any(1 in kind.shape and len(kind.shape) == 2 for kind in kinds)


@pytest.mark.parametrize("seed", SEEDS)
def test_moments_see_zeros_stacks_squares_and_other_options(seed: int) -> None:
    wide, tall, stack, square, stacks = moment_cases(seed)
    assert wide.shape[0] < wide.shape[1] and tall.shape[0] > tall.shape[1]
    assert len(stack.shape) == 3 and square.shape[0] == square.shape[1] and len(stacks.shape) == 4
    assert not stack.gradient(1).any() and stack.gradient(2).all()
    assert not tall.gradient(MOMENT_STEPS)[0].any()
    assert tall.eps > 1e-8 and tall.decay_rate != wide.decay_rate


@pytest.mark.parametrize("seed", SEEDS)
def test_steps_see_every_option(seed: int) -> None:
    plain, scaled, grouped, small = adafactor_cases(seed)
    assert small.learning_rates[0] < 1e-3 and small.gradients(1)[0].abs().max() < 1e-6
    assert not any(plain.is_scaled) and all(scaled.is_scaled) and set(grouped.is_scaled) == {True, False}
    assert {len(shape) for shape in scaled.shapes} == {0, 1, 2, 3}
    assert not scaled.make_weights()[1].any()
    assert scaled.group_eps[0] > 1e-8 and scaled.clip_thresholds[0] < 1 < grouped.clip_thresholds[1]
    assert plain.gradients(1)[3].abs().max() < 1e-7 < plain.gradients(1)[0].abs().max()
    for case, index in ((plain, 4), (grouped, 0)):
        assert not case.gradients(1)[index].any() and case.gradients(2)[index].any()
    assert grouped.gradients(8)[3] is not None and grouped.gradients(9)[3] is None
    assert not grouped.gradients(6)[5].any() and grouped.gradients(8)[5].any()
    assert grouped.gradients(1)[2] is None and grouped.gradients(STEPS)[2] is not None
    assert all(grouped.gradients(step)[4] is None for step in range(1, STEPS + 1))
    for group in (0, 1):
        first, last = grouped.options(group, 1), grouped.options(group, STEPS)
        assert all(first[name] != last[name] for name in first)
    assert all(value != grouped.options(1, 1)[name] for name, value in grouped.options(0, 1).items())


def test_rates_are_asked_of_every_form_early_and_late() -> None:
    for form in FORMS:
        own = [case for case in rate_cases(0) if case.form == form]
        assert {case.step > 10_000 for case in own} == {True, False}
        assert {case.weight_rms > 1 for case in own} == {True, False}
        assert any(case.weight_rms == 0 for case in own)

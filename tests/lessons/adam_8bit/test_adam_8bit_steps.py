"""Misconceptions about the step of 8-bit Adam are recognised at two seeds."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from grader.judging.lessons.adam_8bit.step_mistakes import MISTAKES
from grader.judging.lessons.adam_8bit.step_recipes import RIGHT, simulate
from grader.judging.lessons.adam_8bit.steps import judge_eight_bit_steps
from grader.lessons.adam_8bit.updates import eight_bit_cases
from grader.observation import Observation

SEEDS = (0, 20_011)


def right_formats(case) -> list[dict[str, int]]:
    formats = []
    for index, shape in enumerate(case.shapes):
        numbers = torch.Size(shape).numel()
        codes = {"uint8": 2 * numbers, "float32": 2 * -(-numbers // 256)}
        formats.append(codes if case.is_quantized(index) else {"float32": 2 * numbers})
        if case.first_steps.get(index, 1) > 8:
            formats[-1] = {}
    return formats


def left_alone(case) -> dict[str, object]:
    kept = {"gradients_removed": 0, "options_changed": [], "kept_numbers": 0}
    return kept | {"is_gradient_changed": [False] * len(case.shapes)}


def judge(recipe, seed: int, **changes):
    settings, tensors = [], {}
    for number, case in enumerate(eight_bit_cases(seed)):
        settings.append(left_alone(case) | {"formats": right_formats(case)} | changes)
        tensors |= {f"{number}.{index}": simulate(case, index, recipe) for index in range(len(case.shapes))}
    return judge_eight_bit_steps(Observation({"settings": settings}, tensors), seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_right_steps_pass(seed: int) -> None:
    assert judge(RIGHT, seed).is_passed


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.code)
def test_every_mistake_is_named(mistake, seed: int) -> None:
    assert judge(replace(RIGHT, **mistake.changes), seed).code == mistake.code


def test_a_scaled_gradient_is_seen_although_adam_hides_it() -> None:
    assert judge(replace(RIGHT, gradient=4.0), 0).code == "gradient_scaled"


@pytest.mark.parametrize(
    ("index", "formats", "code"),
    [
        (1, {"uint8": 8190, "float32": 32}, "small_tensors_not_float32"),
        (1, {}, "moments_kept_elsewhere"),
        (1, {"float32": 3 * 4095}, "small_state_too_large"),
        (0, {"float32": 10_900}, "codes_not_in_one_byte"),
        (0, {"uint8": 10_900}, "scales_kept_elsewhere"),
        (0, {"uint8": 5_450, "float32": 22}, "codes_of_one_moment"),
        (0, {"uint8": 16_350, "float32": 44}, "too_many_codes"),
        (0, {"uint8": 10_900, "float32": 10_944}, "moments_kept_too"),
        (0, {"uint8": 10_900, "float32": 44 + 1024}, "code_books_for_each_tensor"),
    ],
)
def test_other_formats_of_the_state_are_named(index: int, formats: dict[str, int], code: str) -> None:
    settings, tensors = [], {}
    for number, case in enumerate(eight_bit_cases(0)):
        seen = right_formats(case)
        if number == 0:
            assert case.shapes[0] == (50, 109)
            seen[index] = formats
        settings.append(left_alone(case) | {"formats": seen})
        tensors |= {f"{number}.{place}": simulate(case, place, RIGHT) for place in range(len(case.shapes))}
    assert judge_eight_bit_steps(Observation({"settings": settings}, tensors), 0).code == code


def test_nan_and_changed_gradients_are_told() -> None:
    assert judge(replace(RIGHT, clock="late"), 0).code == "step_starts_at_zero"
    assert judge(RIGHT, 0, is_gradient_changed=[True]).code == "gradient_changed"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"gradients_removed": 1}, "gradient_removed"),
        ({"options_changed": ["lr"]}, "options_changed"),
        ({"kept_numbers": 10_000}, "moments_kept_beside_the_state"),
    ],
)
def test_what_a_step_leaves_changed_is_told(changes, code: str) -> None:
    assert judge(RIGHT, 0, **changes).code == code


def test_a_rate_that_is_written_down_is_told() -> None:
    assert judge(replace(RIGHT, fixed_rate=4e-3), 0).code == "learning_rate_not_read"

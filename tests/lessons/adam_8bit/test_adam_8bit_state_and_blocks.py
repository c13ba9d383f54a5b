"""Misconceptions about the bytes of 8-bit state and about block codes are recognised at two seeds."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from grader.judging.lessons.adam_8bit.block_recipes import RIGHT as RIGHT_BLOCKS
from grader.judging.lessons.adam_8bit.block_recipes import quantize
from grader.judging.lessons.adam_8bit.blocks import MISTAKES, judge_block_codes
from grader.judging.lessons.adam_8bit.state_size import MISCOUNTS, RIGHT, judge_eight_bit_state
from grader.lessons.adam_8bit.blocks import block_cases
from grader.lessons.adam_8bit.state import eight_bit_state_cases
from grader.observation import Observation

SEEDS = (0, 20_011)


def judge_predictions(count, seed: int):
    facts = {"predicted_bytes": [count.of(case) for case in eight_bit_state_cases(seed)]}
    return judge_eight_bit_state(Observation(facts), seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_right_bytes_pass(seed: int) -> None:
    assert judge_predictions(RIGHT, seed).is_passed


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("miscount", MISCOUNTS, ids=lambda miscount: miscount.code)
def test_every_miscount_is_named(miscount, seed: int) -> None:
    assert judge_predictions(replace(RIGHT, **miscount.changes), seed).code == miscount.code


def test_two_miscounts_are_named_by_the_first() -> None:
    assert judge_predictions(replace(RIGHT, scales="none", has_frozen=True), 0).code == "scales_left_out"


def judge_codes(recipe, seed: int, *, dtype: torch.dtype = torch.uint8):
    settings, tensors = [], {}
    for number, case in enumerate(block_cases(seed)):
        codes, scales = quantize(case, recipe)
        codes = codes.view(case.shape).to(dtype)
        described = {"codes": describe(codes), "scales": describe(scales)}
        settings.append(described | {"is_changed": False, "is_book_changed": False})
        tensors |= {f"{number}.codes": codes, f"{number}.scales": scales}
    return judge_block_codes(Observation({"settings": settings}, tensors), seed)


def describe(tensor: torch.Tensor) -> dict[str, object]:
    return {"shape": list(tensor.shape), "dtype": str(tensor.dtype).removeprefix("torch.")}


@pytest.mark.parametrize("seed", SEEDS)
def test_the_right_codes_pass_in_one_byte(seed: int) -> None:
    assert judge_codes(RIGHT_BLOCKS, seed).is_passed
    assert judge_codes(RIGHT_BLOCKS, seed, dtype=torch.int64).code == "codes_not_in_one_byte"


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.code)
def test_every_mistake_is_named(mistake, seed: int) -> None:
    codes = {"scale_of_the_tensor": "one_scale_for_all"}
    assert judge_codes(mistake.recipe, seed).code == codes.get(mistake.code, mistake.code)


@pytest.mark.parametrize(("block", "code"), [("tensor", "one_scale_for_all"), ("256", "block_size_not_read")])
def test_blocks_of_another_size_are_named(block: str, code: str) -> None:
    assert judge_codes(replace(RIGHT_BLOCKS, block=block), 0).code == code


def test_scales_that_are_no_numbers_are_told() -> None:
    settings, tensors = [], {}
    for number, case in enumerate(block_cases(0)):
        codes, scales = quantize(case, RIGHT_BLOCKS)
        codes, scales = codes.view(case.shape).to(torch.uint8), torch.full_like(scales, torch.nan)
        described = {"codes": describe(codes), "scales": describe(scales)}
        settings.append(described | {"is_changed": False, "is_book_changed": False})
        tensors |= {f"{number}.codes": codes, f"{number}.scales": scales}
    assert judge_block_codes(Observation({"settings": settings}, tensors), 0).code == "scale_not_finite"

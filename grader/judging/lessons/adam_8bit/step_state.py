"""Verdict on what 8-bit Adam keeps between two steps: codes and scales, and float32 for small tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from grader.lessons.adam_8bit.updates import EIGHT_BIT_STEPS, EightBitCase
from grader.testbed.block_codes import BLOCK
from grader.verdict import Verdict

MOST_COUNTERS = 4  # a step count may be a tensor of one number, and there may be a few of them
BOOKS = 2 * 256  # both code books may stand in the state, once
SHARED_BOOKS = "what the state keeps for each tensor: all of them share two code books"


def judge_left_alone(settings: Sequence[Mapping[str, Any]]) -> Verdict | None:
    """Judge that steps leave gradients and options as they are.

    Args:
        settings: Of each case "is_gradient_changed" of each tensor, "gradients_removed", and "options_changed", names.
    """
    expected = "gradients as they were"
    if any(facts["gradients_removed"] for facts in settings):
        look_at = "a line that sets weight.grad, or a call of zero_grad(): the loop does it, not the step"
        return Verdict("gradient_removed", expected, "a gradient that is None after the step", look_at)
    if any(any(facts["is_gradient_changed"]) for facts in settings):
        look_at = "a line that writes into weight.grad: make a new tensor instead"
        return Verdict("gradient_changed", expected, "another gradient after the step", look_at)
    changed = sorted({str(name) for facts in settings for name in facts["options_changed"]})
    if changed:
        look_at = "a line that writes into a group: a schedule changes options, a step reads them"
        return Verdict("options_changed", "options as they were", f"{', '.join(changed)} after the step", look_at)
    return None


def judge_kept(kept_numbers: int) -> Verdict | None:
    """Judge how many numbers the optimizer holds outside of its state."""
    if kept_numbers <= BOOKS + MOST_COUNTERS:
        return None
    look_at = "attributes of the optimizer and entries of its groups: between two steps only the state holds moments"
    measured = f"{kept_numbers:,} numbers beside optimizer.state"
    return Verdict("moments_kept_beside_the_state", "codes and scales in optimizer.state only", measured, look_at)


def judge_formats(case: EightBitCase, formats: Sequence[Mapping[str, int]]) -> Verdict | None:
    """Judge how many numbers of which format each state holds.

    Args:
        case: The case.
        formats: Of each tensor, the numbers in its state by format; what tensors share counts for the first of them.
    """
    spare = BOOKS
    for index, found in enumerate(formats):
        numbers = torch.Size(case.shapes[index]).numel()
        is_updated = case.first_steps.get(index, 1) <= EIGHT_BIT_STEPS
        total = sum(found.values())
        if not is_updated:
            if total:
                look_at = "when the state is made: a tensor that never has a gradient needs none"
                return Verdict("state_without_gradient", "no state: it has no gradient", f"{total} numbers", look_at)
            continue
        if not case.is_quantized(index):
            verdict = _judge_small(case, index, numbers, found)
        else:
            verdict = _judge_codes(case, index, numbers, found, spare)
            spare -= max(0, found.get("float32", 0) - 2 * -(-numbers // BLOCK) - MOST_COUNTERS)
        if verdict:
            return verdict
    return None


def _judge_small(case: EightBitCase, index: int, numbers: int, found: Mapping[str, int]) -> Verdict | None:
    expected = f"two float32 moments of {numbers} numbers each ({case.describe(index)})"
    measured = _say(found)
    if sum(found.values()) < 2 * numbers:
        return Verdict("moments_kept_elsewhere", expected, measured, "where the moments are kept: in optimizer.state")
    if found.get("float32", 0) < 2 * numbers:
        look_at = "tensors of fewer than 4,096 numbers: the format of their moments"
        return Verdict("small_tensors_not_float32", expected, measured, look_at)
    more = sum(found.values()) - 2 * numbers
    if any(0 <= more - books <= MOST_COUNTERS for books in (BOOKS // 2, BOOKS)):
        return Verdict("code_books_for_each_tensor", expected, measured, SHARED_BOOKS)
    if sum(found.values()) > 2 * numbers + MOST_COUNTERS:
        return Verdict("small_state_too_large", expected, measured, "what a small tensor keeps beside its two moments")
    return None


def _judge_codes(case: EightBitCase, index: int, numbers: int, found: Mapping[str, int], spare: int) -> Verdict | None:
    scales = 2 * -(-numbers // BLOCK)
    expected = f"{2 * numbers} codes in uint8 and {scales} scales in float32 ({case.describe(index)})"
    measured, codes = _say(found), found.get("uint8", 0)
    others = sum(found.values()) - codes
    if not sum(found.values()):
        return Verdict("moments_kept_elsewhere", expected, measured, "where the moments are kept: in optimizer.state")
    if not codes and others >= 2 * numbers:
        look_at = "the end of the step: moments are codes between two steps, in torch.uint8"
        return Verdict("codes_not_in_one_byte", expected, measured, look_at)
    if codes < 2 * numbers:
        return Verdict("codes_of_one_moment", expected, measured, "both moments of a large tensor are codes")
    if codes > 2 * numbers:
        return Verdict("too_many_codes", expected, measured, "what the state keeps beside the codes of two moments")
    if others < scales:
        return Verdict("scales_kept_elsewhere", expected, measured, "the scales: the state keeps them beside the codes")
    if others >= scales + numbers:
        look_at = "what the state keeps beside codes and scales: moments, weights and gradients have no place there"
        return Verdict("moments_kept_too", expected, measured, look_at)
    if others > scales + MOST_COUNTERS + spare:
        return Verdict("code_books_for_each_tensor", expected, measured, SHARED_BOOKS)
    return None


def _say(found: Mapping[str, int]) -> str:
    return ", ".join(f"{numbers} numbers in {name}" for name, numbers in found.items()) or "no tensor in its state"

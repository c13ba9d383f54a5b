"""Verdict on formats and shapes of codes and scales."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from grader.lessons.adam_8bit.blocks import BlockCase
from grader.verdict import Verdict

TELLING = ("filling_kept", "block_size_not_read")


def judge_shapes(cases: Sequence[BlockCase], settings: Sequence[Mapping[str, Any]]) -> Verdict | None:
    """Judge what a quantizer returned but for its values.

    Args:
        cases: What was quantized.
        settings: Of each case "codes" and "scales", each with "shape" and "dtype", and "is_changed".
    """
    found = [verdict for case, facts in zip(cases, settings, strict=True) if (verdict := _judge(case, facts))]
    telling = [verdict for verdict in found if verdict.code in TELLING]  # where blocks fit, others look alike
    return next(iter([*telling, *found]), None)


def _judge(case: BlockCase, facts: Mapping[str, Any]) -> Verdict | None:
    if facts["is_changed"]:
        look_at = "a line that writes into `values`, such as values.div_(...): make a new tensor instead"
        return Verdict("values_changed", "values as they were", "other values after the call", look_at)
    if facts["is_book_changed"]:
        look_at = "a line that writes into `code_book`: the next tensor needs it too"
        return Verdict("code_book_changed", "the code book as it was", "another book after the call", look_at)
    if facts["scales"]["dtype"] == "uint8" and facts["codes"]["dtype"] != "uint8":
        return Verdict("pair_swapped", "codes, then scales", "scales, then codes", "the order of what you return")
    return _judge_scales(case, facts["scales"]) or _judge_codes(case, facts["codes"])


def _judge_scales(case: BlockCase, found: Mapping[str, Any]) -> Verdict | None:
    shape = [int(side) for side in found["shape"]]
    numbers, rows = _product(shape), case.numbers // case.shape[-1]
    expected = f"{case.blocks} scales, one for each block of {case.block_size} of {case.numbers:,} numbers"
    measured = f"a tensor of shape {shape}"
    known = {
        case.numbers // case.block_size: ("short_block_left_out", "the numbers behind the last full block"),
        rows: ("scale_for_each_row", "what a block is: numbers that follow each other, whatever the shape is"),
        1: ("one_scale_for_all", "the scale: each block has its own, also where the last block is short"),
        -(-case.numbers // 256): ("block_size_not_read", "block_size: which size do your blocks have?"),
        case.block_size: ("blocks_transposed", "which dimension of your blocks the largest is taken over"),
        case.numbers: ("scale_for_each_number", "the largest: of each block, not of each number"),
        case.numbers // case.block_size + 1: ("empty_block_added", "the filling: none is needed where the blocks fit"),
    }
    if numbers != case.blocks:
        general = ("wrong_number_of_scales", "how many blocks there are, the short one at the end counted")
        code, look_at = known.get(numbers, general)
        return Verdict(code, expected, measured, look_at)
    if shape != [case.blocks]:
        return Verdict("scales_not_flat", f"scales of shape [{case.blocks}]", measured, "keepdim, or a view")
    if found["dtype"] != "float32":
        look_at = "the format of the scales: that of the values"
        return Verdict("scales_not_float32", "scales in float32", f"scales in {found['dtype']}", look_at)
    return None


def _judge_codes(case: BlockCase, found: Mapping[str, Any]) -> Verdict | None:
    shape = [int(side) for side in found["shape"]]
    expected, measured = f"codes of shape {list(case.shape)}", f"codes of shape {shape}"
    if found["dtype"] != "uint8":
        look_at = "the format of the codes: a place from 0 to 255 fits into one byte, torch.uint8"
        return Verdict("codes_not_in_one_byte", "codes in uint8", f"codes in {found['dtype']}", look_at)
    if shape == list(case.shape):
        return None
    if _product(shape) == case.numbers:
        return Verdict("codes_in_another_shape", expected, measured, "the shape: codes have that of the values")
    if _product(shape) == case.blocks * case.block_size:
        look_at = "the zeros that fill the last block: they are cut off again"
        return Verdict("filling_kept", expected, measured, look_at)
    return Verdict("wrong_number_of_codes", expected, measured, "one code for each number")


def _product(shape: list[int]) -> int:
    product = 1
    for side in shape:
        product *= side
    return product

"""Judges number formats and shapes of codes and scales."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from grader.judging.misconceptions import Misconception, Table
from grader.lessons.adam_8bit.blocks import BlockCase
from grader.verdict import Verdict


@dataclass(frozen=True)
class Shapes:
    """What a quantizer returned for one tensor, except for its numbers.

    Attributes:
        case: What was quantized.
        facts: "codes" and "scales", each with "shape" and "dtype", and what the call changed.
    """

    case: BlockCase
    facts: Mapping[str, Any]

    @property
    def codes(self) -> list[int]:
        """Shape of the codes."""
        return [int(side) for side in self.facts["codes"]["shape"]]

    @property
    def scales(self) -> list[int]:
        """Shape of the scales."""
        return [int(side) for side in self.facts["scales"]["shape"]]

    @property
    def expected_scales(self) -> str:
        """How many scales there have to be, in words."""
        case = self.case
        return f"{case.blocks} scales, one for each block of {case.block_size} of {case.numbers:,} numbers"

    @property
    def expected_codes(self) -> str:
        """The shape that codes have to have, in words."""
        return f"codes of shape {list(self.case.shape)}"


def judge_shapes(cases: Sequence[BlockCase], settings: Sequence[Mapping[str, Any]]) -> Verdict | None:
    """Return the verdict on the first misconception, in the order of the table, that any tensor shows, or None."""
    every = [Shapes(case, facts) for case, facts in zip(cases, settings, strict=True)]
    for misconception in TABLE.misconceptions:
        for shapes in every:
            if TABLE.shows(shapes, misconception):
                return misconception.verdict(shapes, "", "")
    return None


def _scales(code: str, diagnosis: str, count: Callable[[BlockCase], int]) -> Misconception[Shapes]:
    """Return a misconception that shows in a wrong number of scales."""
    return Misconception(
        code,
        diagnosis,
        shown_by=lambda shapes: 0 < count(shapes.case) == prod(shapes.scales) != shapes.case.blocks,
        expected="{expected_scales}",
        measured="a tensor of shape {scales}",
    )


TABLE = Table[Shapes](
    Misconception(
        "values_changed",
        "You write into `values` or `code_book`, with a method such as div_(). Make a new tensor instead.",
        shown_by=lambda shapes: shapes.facts["is_changed"] or shapes.facts["is_book_changed"],
        expected="both tensors as they were",
        measured="other numbers in one after the call",
    ),
    Misconception(
        "pair_swapped",
        "You return scales first. Return codes, then scales.",
        shown_by=lambda shapes: shapes.facts["scales"]["dtype"] == "uint8" != shapes.facts["codes"]["dtype"],
        expected="codes, then scales",
        measured="scales, then codes",
    ),
    Misconception(
        "filling_kept",
        "You return codes for the zeros that fill the last block up. Cut them off.",
        shown_by=lambda shapes: (
            prod(shapes.codes) == shapes.case.blocks * shapes.case.block_size != shapes.case.numbers
        ),
        expected="{expected_codes}",
        measured="codes of shape {codes}",
    ),
    _scales(
        "block_size_not_read",
        "You use blocks of 256 numbers. Use the `block_size` that your function receives.",
        lambda case: -(-case.numbers // 256),
    ),
    _scales(
        "short_block_left_out",
        "You leave the numbers behind the last full block without a scale. A short block has one, too.",
        lambda case: case.numbers // case.block_size,
    ),
    _scales(
        "scale_for_each_row",
        "You make a scale for each row of the tensor. A block is numbers that follow each other, whatever the shape "
        "is.",
        lambda case: len(case.shape) > 1 and case.numbers // case.shape[-1],
    ),
    _scales(
        "one_scale_for_all",
        "You make one scale for the whole tensor. Each block has its own.",
        lambda case: len(case.shape) > 1,
    ),
    _scales(
        "blocks_transposed",
        "You take the largest size over the wrong dimension of your blocks. Each block is a row.",
        lambda case: case.block_size,
    ),
    _scales(
        "empty_block_added",
        "You add a block that only holds filling. None is needed where the numbers fill whole blocks.",
        lambda case: case.numbers // case.block_size + 1,
    ),
    Misconception(
        "wrong_number_of_scales",
        "You make another number of blocks than the tensor has. Count the short one at the end, and use `block_size`.",
        shown_by=lambda shapes: prod(shapes.scales) != shapes.case.blocks,
        expected="{expected_scales}",
        measured="a tensor of shape {scales}",
    ),
    Misconception(
        "scales_not_flat",
        "You return scales of more than one dimension. Look for keepdim, or for a view.",
        shown_by=lambda shapes: len(shapes.scales) != 1,
        expected="scales of shape [{case.blocks}]",
        measured="a tensor of shape {scales}",
    ),
    Misconception(
        "scales_not_float32",
        "You return scales in another number format. Leave them in that of the values.",
        shown_by=lambda shapes: shapes.facts["scales"]["dtype"] != "float32",
        expected="scales in float32",
        measured="scales in {facts[scales][dtype]}",
    ),
    Misconception(
        "codes_not_in_one_byte",
        "You return codes that take more than one byte each. A place from 0 to 255 fits into torch.uint8.",
        shown_by=lambda shapes: shapes.facts["codes"]["dtype"] != "uint8",
        expected="codes in uint8",
        measured="codes in {facts[codes][dtype]}",
    ),
    Misconception(
        "codes_in_another_shape",
        "You return codes in another shape or number than the values. View them as the values.",
        shown_by=lambda shapes: shapes.codes != list(shapes.case.shape),
        expected="{expected_codes}",
        measured="codes of shape {codes}",
    ),
)

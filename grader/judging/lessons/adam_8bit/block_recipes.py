"""The codes and scales that a quantizer gives when one decision or another is made otherwise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.lessons.adam_8bit.blocks import BlockCase
from grader.testbed.block_codes import make_code_book


@dataclass(frozen=True)
class BlockRecipe:
    """The decisions of a quantizer; as they stand, the right ones.

    Attributes:
        block: Numbers that share a scale: those of the "case", of the whole "tensor", of a "row", a fixed "256", or
            "strided", numbers that are as many places apart as there are blocks, or "columns" instead of rows.
        scale: What a scale is: "absmax", "max", "signed", the largest with its sign, "mean", "deviation", "sum",
            "norm", "half", "squared", "smallest", or "range".
        code: How a code is found: "nearest", "below", "above", "next", one too high, "linear" between -1 and 1,
            "unscaled" without a division, "multiplied", "cut", "reversed" from the last to the first, "sizes" without
            signs, divided by the "first" scale, or "capped" below the last code.
        book: The code book: that of the "case", the "signed" or the "unsigned" one.
    """

    block: str = "case"
    scale: str = "absmax"
    code: str = "nearest"
    book: str = "case"


RIGHT = BlockRecipe()

_SCALES: dict[str, Callable[[Tensor], Tensor]] = {
    "absmax": lambda blocks: blocks.abs().amax(dim=1),
    "max": lambda blocks: blocks.amax(dim=1),
    "signed": lambda blocks: blocks.gather(1, blocks.abs().argmax(dim=1, keepdim=True))[:, 0],
    "mean": lambda blocks: blocks.abs().mean(dim=1),
    "deviation": lambda blocks: blocks.std(dim=1),
    "sum": lambda blocks: blocks.abs().sum(dim=1),
    "norm": lambda blocks: torch.linalg.vector_norm(blocks, dim=1),
    "half": lambda blocks: blocks.abs().amax(dim=1) / 2,
    "squared": lambda blocks: blocks.square().amax(dim=1),
    "smallest": lambda blocks: blocks.abs().amin(dim=1),
    "range": lambda blocks: blocks.amax(dim=1) - blocks.amin(dim=1),
}


def quantize(case: BlockCase, recipe: BlockRecipe) -> tuple[Tensor, Tensor]:
    """Return codes [numbers] and scales [blocks] of a case."""
    values, size = case.make_values().flatten(), _block_size(case, recipe)
    book = case.make_code_book() if recipe.book == "case" else make_code_book(is_signed=recipe.book == "signed")
    if recipe.block == "columns":
        values = case.make_values().transpose(0, -1).flatten()
    blocks = F.pad(values, (0, -len(values) % size)).view(-1, size)
    if recipe.block == "strided":
        blocks = F.pad(values, (0, -len(values) % size)).view(size, -1).t()
    scales = _SCALES[recipe.scale](blocks)
    divisors = torch.where(scales == 0, torch.ones_like(scales), scales)[:, None]
    others = {"unscaled": blocks, "multiplied": blocks * scales[:, None], "first": blocks / divisors[:1]}
    scaled = others.get(recipe.code, blocks / divisors)
    codes = _codes(scaled, book, recipe.code)
    if recipe.block == "strided":
        codes = codes.t()
    codes = codes.flatten()[: len(values)]
    if recipe.block == "columns":
        codes = codes.view(case.make_values().transpose(0, -1).shape).transpose(0, -1).flatten()
    return codes, scales


def nearest_codes(values: Tensor, book: Tensor, block_size: int) -> tuple[Tensor, Tensor]:
    """Return the nearest code of each number, 0 among them, and the scales; as `encode_blocks` but for that code."""
    flat = values.flatten()
    blocks = F.pad(flat, (0, -len(flat) % block_size)).view(-1, block_size)
    scales = _SCALES["absmax"](blocks)
    codes = _codes(blocks / torch.where(scales == 0, torch.ones_like(scales), scales)[:, None], book, "nearest")
    return codes.flatten()[: len(flat)].view(values.shape), scales


def _block_size(case: BlockCase, recipe: BlockRecipe) -> int:
    sizes = {"tensor": case.numbers, "row": case.shape[-1], "256": 256}
    return sizes.get(recipe.block, case.block_size)


def _codes(scaled: Tensor, book: Tensor, kind: str) -> Tensor:
    last = len(book) - 1
    if kind == "below":
        return (torch.searchsorted(book, scaled.contiguous(), right=True) - 1).clamp(0, last)
    if kind == "above":
        return torch.searchsorted(book, scaled.contiguous()).clamp(0, last)
    if kind == "linear":
        return ((scaled + 1) / 2 * last).round().long().clamp(0, last)
    if kind == "cut":
        return ((scaled + 1) / 2 * last).long().clamp(0, last)
    scaled = scaled.abs() if kind == "sizes" else scaled
    nearest = torch.bucketize(scaled.contiguous(), (book[1:] + book[:-1]) / 2)
    changed = {"next": (nearest + 1).clamp(0, last), "reversed": last - nearest, "capped": nearest.clamp(max=last - 1)}
    return changed.get(kind, nearest)

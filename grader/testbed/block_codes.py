"""Numbers in 8 bits: each is a place in a code book, times the scale of its block."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

BLOCK = 256
"""Numbers that share one scale in bitsandbytes, since its version 0.44."""


def make_code_book(*, is_signed: bool) -> Tensor:
    """Build the dynamic code book: 256 numbers in ascending order, closer to each other the smaller they are.

    Seven decades lie below 1. Each has twice as many codes as the next smaller one, in the middle of equal parts.

    Args:
        is_signed: Whether half of the codes are below 0.

    Source: Dettmers, 8-Bit Approximations for Parallelism in Deep Learning; `create_dynamic_map` of bitsandbytes.
    """
    values = [0.0, 1.0]
    for decade in range(7):
        ends = torch.linspace(0.1, 1, 2 ** (decade if is_signed else decade + 1) + 1)
        middles = (ends[:-1] + ends[1:]) / 2 * 10.0 ** (decade - 6)
        values += middles.tolist() + ((-middles).tolist() if is_signed else [])
    return torch.tensor(sorted(values))


def encode_blocks(values: Tensor, code_book: Tensor, block_size: int = BLOCK) -> tuple[Tensor, Tensor]:
    """Give each number the code that is nearest to it, after a division by the largest size in its block.

    A book that begins with 0 is that of a second moment. There no number gets code 0, in a block that has a scale: it
    gets at least code 1. A second moment of 0 would leave a step that divides by epsilon alone.

    Args:
        values: Numbers of any shape; blocks run through it row by row, and the last one may be short.
        code_book: Up to 256 numbers in ascending order, between -1 and 1.
        block_size: Numbers that share a scale.

    Returns:
        Codes, uint8 in the shape of `values`, and scales, float32 [blocks].
    """
    flat = values.detach().flatten().float()
    blocks = F.pad(flat, (0, -flat.numel() % block_size)).view(-1, block_size)  # [blocks, block_size]
    scales = blocks.abs().amax(dim=1)
    divisors = torch.where(scales == 0, torch.ones_like(scales), scales)
    codes = _nearest(blocks / divisors[:, None], code_book.to(flat.device))
    if float(code_book[0]) == 0:
        codes = codes.maximum((scales > 0).to(torch.uint8)[:, None])
    return codes.flatten()[: flat.numel()].view(values.shape), scales


def decode_blocks(codes: Tensor, scales: Tensor, code_book: Tensor, block_size: int = BLOCK) -> Tensor:
    """Turn codes back into numbers, float32 in the shape of `codes`.

    Args:
        codes: Places in the code book, uint8.
        scales: Float32 [blocks].
        code_book: The book that the codes were made with.
        block_size: Numbers that share a scale.
    """
    scale_of_each = scales.repeat_interleave(block_size)[: codes.numel()].view(codes.shape)
    return code_book.to(codes.device)[codes.int()] * scale_of_each


def _nearest(values: Tensor, code_book: Tensor) -> Tensor:
    return torch.bucketize(values, (code_book[1:] + code_book[:-1]) / 2, out_int32=True).to(torch.uint8)

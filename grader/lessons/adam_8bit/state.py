"""Parameters whose 8-bit state is predicted."""

from __future__ import annotations

import random
from dataclasses import dataclass

import torch
from torch import nn

from grader.testbed.optimizer_states import TensorKind, distilbert_tensors

SMALLEST_QUANTIZED = 4096
"""Numbers of the smallest tensor whose moments are codes."""


@dataclass(frozen=True)
class EightBitStateCase:
    """Parameters that 8-bit Adam updates."""

    tensors: tuple[TensorKind, ...]

    def make_parameters(self, device: str = "meta") -> list[nn.Parameter]:
        """Make the parameters, on the device "meta" without values."""
        return [
            nn.Parameter(torch.ones(kind.shape, dtype=kind.dtype, device=device), requires_grad=kind.is_trained)
            for kind in self.tensors
        ]


def eight_bit_state_cases(seed: int) -> tuple[EightBitStateCase, ...]:
    """Six settings: DistilBERT, as in the lesson, and five that it never shows.

    They hold only small tensors, tensors around the limit, short last blocks, frozen tensors, 16-bit formats, and one
    tensor alone.
    """
    draw = random.Random(seed)
    width, rows, layers = draw.randrange(90, 120), draw.randrange(310, 390), draw.randrange(3, 7)
    table, bias = (rows, width), (width,)
    matrices = tuple(TensorKind(shape) for shape in [(width, 2 * width + 1), (width,)] * layers)
    limit = tuple(TensorKind((numbers,)) for numbers in (4095, 4096, 4097, 4095))
    frozen = (TensorKind(table, is_trained=False), TensorKind(bias, is_trained=False))
    half = tuple(TensorKind(kind.shape, torch.bfloat16) for kind in (TensorKind(table), *matrices))
    flat = TensorKind((2, draw.randrange(5001, 5100), 3))
    small = tuple(TensorKind(shape) for shape in [(width, 30), (width,), (4095,)] * 2)
    return (
        EightBitStateCase(distilbert_tensors()),
        EightBitStateCase((TensorKind(table), *matrices)),
        EightBitStateCase((*frozen, *small)),
        EightBitStateCase((*limit, TensorKind((64, 64)), TensorKind((63, 65)))),
        EightBitStateCase((*half, *frozen, TensorKind((), torch.bfloat16))),
        EightBitStateCase((flat,)),
    )

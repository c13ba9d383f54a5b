"""Optimizers whose state is counted."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from grader.testbed.chain import make_chain
from grader.testbed.own_optimizer import OwnOptimizer

CODE_BOOK_ELEMENTS = 256
ALIGNMENT = 64  # each tensor's part of the flat buffer begins at a multiple of so many numbers


@dataclass(frozen=True)
class CountCase:
    """An optimizer of a small chain.

    Attributes:
        kind: "adamw", "fresh" without a step, "sgd", or "packed".
        blocks: Blocks of the chain.
        width: Its features.
    """

    kind: str
    blocks: int
    width: int

    def make_optimizer(self) -> torch.optim.Optimizer:
        """Build the chain and its optimizer, and take one step with it, unless it is to be fresh."""
        parameters = list(make_chain(self.blocks, self.width, 2 * self.width).parameters())
        makers: dict[str, Callable[[], torch.optim.Optimizer]] = {
            "sgd": lambda: torch.optim.SGD(parameters, lr=0.1),
            "packed": lambda: OwnOptimizer(keep_packed, [{"params": parameters, "scales": torch.ones(8)}]),
        }
        groups: list[dict[str, Any]] = [{"params": parameters[:2]}, {"params": parameters[2:], "weight_decay": 0.0}]
        optimizer = makers.get(self.kind, lambda: torch.optim.AdamW(groups))()
        if self.kind != "fresh":
            for parameter in parameters:
                parameter.grad = torch.ones_like(parameter)
            optimizer.step()
        return optimizer


def keep_packed(optimizer: torch.optim.Optimizer) -> None:
    """Make the state of an optimizer that packs its moments, as libraries do.

    All first moments are views of one flat 16-bit buffer, with gaps between them. The second moment of a matrix is
    stored column by column. All parameters share one code book. The step is a plain
    number, and what is not there yet is None. The group has a tensor among its options.
    """
    parameters: list[nn.Parameter] = [p for group in optimizer.param_groups for p in group["params"]]
    sizes = [-(-parameter.numel() // ALIGNMENT) * ALIGNMENT for parameter in parameters]
    buffer = torch.zeros(sum(sizes), dtype=torch.bfloat16)
    code_book = torch.linspace(-1, 1, CODE_BOOK_ELEMENTS)
    start = 0
    for parameter, size in zip(parameters, sizes, strict=True):
        mean = buffer[start : start + parameter.numel()].view(parameter.shape)
        second = torch.zeros(parameter.shape[::-1], dtype=torch.uint8).t()
        optimizer.state[parameter] |= {"step": 1, "mean": mean, "square_mean": second, "code_book": code_book}
        optimizer.state[parameter] |= {"name": "packed", "largest": None, "scale": 0.5}
        start += size


def count_cases(seed: int) -> tuple[CountCase, ...]:
    """Four settings: AdamW, an optimizer that has taken no step, SGD without state, and packed state."""
    draw = random.Random(seed)
    blocks, width = draw.randrange(2, 5), draw.randrange(9, 15)
    return (
        CountCase("adamw", blocks, width),
        CountCase("packed", blocks + 1, width + 2),
        CountCase("fresh", blocks, width),
        CountCase("sgd", blocks, width),
    )

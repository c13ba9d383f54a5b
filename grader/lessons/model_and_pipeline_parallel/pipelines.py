"""Small models in stages that several ranks train together."""

from __future__ import annotations

import random
from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class PipelineCase:
    """A model whose layers are shared out unevenly: each rank has a stage.

    Attributes:
        micro_batches: Micro-batches of a step.
        rows: Rows of a micro-batch.
        widths: Features of the input, between the stages, and of the output.
        layers: Linear layers of each stage.
        seed: Seed of weights and data.
    """

    micro_batches: int
    rows: int
    widths: tuple[int, ...]
    layers: tuple[int, ...]
    seed: int

    @property
    def world_size(self) -> int:
        """How many ranks."""
        return len(self.layers)

    def make_layers(self, rank: int) -> nn.Sequential:
        """Build the layers of one rank."""
        layers: list[nn.Module] = []
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(100 * self.seed + rank)
            for number in range(self.layers[rank]):
                width = self.widths[rank + (number + 1 == self.layers[rank])]
                layers += [nn.Linear(self.widths[rank], width), nn.Tanh()]
        return nn.Sequential(*layers)

    def make_inputs(self) -> list[Tensor]:
        """Draw the inputs of all micro-batches, [rows, features] each."""
        generator = torch.Generator().manual_seed(self.seed + 1)
        return [torch.randn(self.rows, self.widths[0], generator=generator) for _ in range(self.micro_batches)]

    def make_targets(self) -> list[Tensor]:
        """Draw the targets of all micro-batches, [rows, features] each."""
        generator = torch.Generator().manual_seed(self.seed + 2)
        return [
            torch.randn(self.rows, self.widths[-1], generator=generator) + number
            for number in range(self.micro_batches)
        ]


def pipeline_cases(seed: int) -> tuple[PipelineCase, ...]:
    """Four models on 3 and 4 ranks, one of them with fewer micro-batches than ranks, and widths that differ."""
    draw = random.Random(seed)
    rows, widths = draw.randrange(2, 5), draw.sample(range(3, 9), 5)
    return (
        PipelineCase(5, rows, tuple(widths[:4]), (1, 3, 2), seed),
        PipelineCase(4, rows + 1, tuple(widths[1:]), (2, 1, 1), seed + 10),
        PipelineCase(6, rows, tuple(widths), (1, 2, 1, 3), seed + 20),
        PipelineCase(2, rows, tuple(widths[::-1]), (2, 1, 1, 1), seed + 30),
    )

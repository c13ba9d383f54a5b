"""The small regression and its micro-batches that several lessons train in groups."""

from __future__ import annotations

import torch
from torch import Tensor, nn

MicroBatch = tuple[Tensor, Tensor]  # inputs or tokens, targets


def make_regression(features: int, seed: int, *, hidden: int = 8, outputs: int = 1) -> nn.Sequential:
    """Build a model for inputs [rows, features] and targets [rows, outputs]; torch's own seed stays as it is."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return nn.Sequential(nn.Linear(features, hidden), nn.Tanh(), nn.Linear(hidden, outputs))


def draw_micro_batches(count: int, rows: int, features: int, seed: int, *, outputs: int = 1) -> list[MicroBatch]:
    """Draw inputs [rows, features] and targets [rows, outputs], whose mean is the micro-batch's place in the list."""
    generator = torch.Generator().manual_seed(seed)
    drawn = []
    for index in range(count):
        inputs = torch.randn(rows, features, generator=generator)
        drawn.append((inputs, torch.randn(rows, outputs, generator=generator) + index))
    return drawn

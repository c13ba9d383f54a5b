"""A chain of small blocks: the model whose memory can be counted by hand."""

from __future__ import annotations

import torch
from torch import nn


def make_chain(blocks: int = 16, width: int = 256, hidden: int = 1024, *, seed: int = 0) -> nn.Sequential:
    """Build `blocks` times Linear(width, hidden), GELU, Linear(hidden, width).

    Args:
        blocks: How many blocks follow each other.
        width: Features between two blocks; input and output are [batch, width].
        hidden: Features inside a block.
        seed: Seed of the weights. The global random state stays as it was.

    Returns:
        A flat Sequential of 3 * `blocks` modules, so that any cut between blocks is a slice.
    """
    # Weights are drawn on the CPU, so the CUDA random states need no fork.
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layers: list[nn.Module] = []
        for _ in range(blocks):
            layers += [nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width)]
        return nn.Sequential(*layers)

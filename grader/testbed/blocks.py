"""Chains of blocks, to be cut into segments that are checkpointed."""

from __future__ import annotations

import torch
from torch import nn

from grader.testbed.chain import make_chain

LAYERS_PER_BLOCK = 3


def make_wide_blocks(blocks: int = 16, width: int = 256, hidden: int = 1024, *, seed: int = 0) -> nn.Sequential:
    """Build the layers of `make_chain`, one Sequential for each block: much is kept inside a block, little between.

    Args:
        blocks: How many blocks follow each other.
        width: Features between two blocks; input and output are [batch, width].
        hidden: Features inside a block.
        seed: Seed of the weights. The global random state stays as it was.

    Returns:
        A Sequential of `blocks` Sequentials, so that a slice is a segment.
    """
    layers = make_chain(blocks, width, hidden, seed=seed)
    starts = range(0, len(layers), LAYERS_PER_BLOCK)
    return nn.Sequential(*(layers[start : start + LAYERS_PER_BLOCK] for start in starts))


def make_thin_blocks(blocks: int = 64, width: int = 64, *, layers: int = 1, seed: int = 0) -> nn.Sequential:
    """Build blocks of Linear(width, width), Tanh: what backward needs of a layer is its output and nothing else.

    Args:
        blocks: How many blocks follow each other.
        width: Features; input and output are [batch, width].
        layers: Pairs of Linear and Tanh in a block; all but the last are its interior.
        seed: Seed of the weights. The global random state stays as it was.

    Returns:
        A Sequential of `blocks` Sequentials, so that a slice is a segment.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return nn.Sequential(*(_thin_block(width, layers) for _ in range(blocks)))


def _thin_block(width: int, layers: int) -> nn.Sequential:
    return nn.Sequential(*(layer for _ in range(layers) for layer in (nn.Linear(width, width), nn.Tanh())))

"""Counts how many numbers a state keeps."""

from __future__ import annotations

from typing import Any

import torch

from grader.meters.storages import leaves_in


def kept_numbers(state: object) -> int:
    """Count the numbers that a state keeps, each tensor once: in tensors, in arrays, and by themselves or in lists."""
    leaves = list(leaves_in(state))
    sizes = {id(leaf): _size(leaf) for leaf in leaves if hasattr(leaf, "shape")}
    return sum(sizes.values()) + sum(isinstance(leaf, int | float) for leaf in leaves if not hasattr(leaf, "shape"))


def _size(leaf: Any) -> int:
    return torch.Size(leaf.shape).numel()

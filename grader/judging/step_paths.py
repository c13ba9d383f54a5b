"""Compares the weights after each step of an optimizer with right ones, relative to how far those have moved."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

ROUNDING = 2**-20  # eight units in the last place of a weight, for each of about 20 steps


def is_near(seen: Tensor, wanted: Tensor, start: Tensor, tolerance: float) -> bool:
    """Return whether two weights agree; NaN agrees with NaN only.

    Args:
        seen: The weight that is judged, [numbers].
        wanted: The right one, [numbers].
        start: The weight before the first step, [numbers].
        tolerance: The difference that is allowed, as a share of the way from `start` to `wanted`.
    """
    is_nan = wanted.isnan()
    if not torch.equal(seen.isnan(), is_nan):
        return False
    difference = torch.linalg.vector_norm((seen.double() - wanted.double())[~is_nan])
    movement = torch.linalg.vector_norm((wanted.double() - start.double())[~is_nan])
    return bool(difference <= tolerance * movement + ROUNDING * torch.linalg.vector_norm(start))


def say_movement(seen: Tensor, wanted: Tensor, start: Tensor) -> str:
    """Say how far a weight moved and how far it is off, relative to the movement of the right one."""
    if not bool(seen.isfinite().all()):
        return "NaN or infinity in the weights"
    moved, should = torch.linalg.vector_norm(seen - start), torch.linalg.vector_norm(wanted - start)
    if not should:
        return "a tensor that moves, and should stay"
    difference = float(torch.linalg.vector_norm(seen - wanted) / should)
    return f"a movement {float(moved / should):.3g} times as long; the weights are off by {difference:.2g} of it"


def measure_miss(tensors: Mapping[str, Tensor], updates: int, start: Tensor, wanted: Tensor) -> float:
    """Return how far a run ended from the right weights, relative to their movement; infinity for NaN.

    Args:
        tensors: Of one run: `weights.0` before the first update, and `weights.{updates}` after the last, [numbers].
        updates: How many updates the run had to take.
        start: The right weights before the first update, [numbers].
        wanted: The right weights after the last, [numbers].
    """
    missed = torch.linalg.vector_norm(tensors[f"weights.{updates}"].to(wanted.dtype) - wanted)
    missed += torch.linalg.vector_norm(tensors["weights.0"].to(start.dtype) - start)
    ratio = float(missed / torch.linalg.vector_norm(wanted - start))
    return ratio if ratio == ratio else float("inf")

"""Compares the weights after each step of an optimizer with right ones, relative to how far those have moved."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

import torch
from torch import Tensor

Recipe = TypeVar("Recipe", contravariant=True)
Named = TypeVar("Named")
ROUNDING = 2**-20  # eight units in the last place of a weight, for each of about 20 steps


class Explained(Protocol[Recipe]):
    """What a case did."""

    def explained_by(self, recipe: Recipe) -> bool:
        """Return whether a recipe takes the recorded steps."""


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


def find_miss(
    seen: Sequence[Tensor], wanted: Sequence[Tensor], start: Callable[[int], Tensor], tolerance: float
) -> tuple[int, int] | None:
    """Return the first step, counted from 1, and the tensor that is not as it should be; None where all are.

    Args:
        seen: Of each tensor, its values after each step, [steps, numbers].
        wanted: The same of right steps.
        start: Returns a tensor before the first step, [numbers].
        tolerance: As `is_near` takes it.
    """
    starts = [start(index) for index in range(len(wanted))]
    for step in range(len(wanted[0])):
        for index, (own, right) in enumerate(zip(seen, wanted, strict=True)):
            if not is_near(own[step], right[step], starts[index], tolerance):
                return step + 1, index
    return None


def find_recipe(
    runs: Sequence[Explained[Recipe]], first: int, candidates: Iterable[tuple[Named, Recipe]]
) -> Named | None:
    """Find the misconception that takes the steps of the first wrong case, and by preference of all cases.

    Args:
        runs: What every case did.
        first: The first case that is not right.
        candidates: Misconceptions with their recipes, the likeliest first.
    """
    fitting: Named | None = None
    for named, recipe in candidates:
        if runs[first].explained_by(recipe):
            if all(run.explained_by(recipe) for run in runs):
                return named
            fitting = fitting or named
    return fitting


def say_movement(seen: Tensor, wanted: Tensor, start: Tensor) -> str:
    """Say how far a weight moved, and how far it is from the right one."""
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

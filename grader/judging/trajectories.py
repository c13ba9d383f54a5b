"""Compares the weights after each step of an optimizer with right ones, relative to how far those have moved."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from grader.judging.nearness import IsNear
from grader.judging.step_paths import ROUNDING
from grader.testbed.optimizer_steps import UpdateCase
from grader.testbed.own_optimizer import OwnOptimizer

Trajectory = Sequence[Tensor]  # of each tensor, its numbers before the first step and after each, [1 + steps, numbers]
StepFunction = Callable[[torch.optim.Optimizer], None]


def take_steps(step_function: StepFunction, case: UpdateCase, steps: int, dtype: torch.dtype) -> Trajectory:
    """Return how the weights of a case move under an optimizer.

    Args:
        step_function: Takes one step of the optimizer that it receives.
        case: Weights, gradients and options.
        steps: How many steps are taken.
        dtype: Number format of weights and gradients.
    """
    weights = [nn.Parameter(weight.to(dtype)) for weight in case.make_weights()]
    groups = [
        {"params": [weights[index] for index in case.members(group)], **case.options(group, 1)}
        for group in range(len(case.decays))
    ]
    optimizer = OwnOptimizer(step_function, groups)
    rows = [[weight.detach().flatten().clone()] for weight in weights]
    for step in range(1, steps + 1):
        for number, group in enumerate(optimizer.param_groups):
            group.update(case.options(number, step))
        for weight, gradient in zip(weights, case.gradients(step), strict=True):
            weight.grad = None if gradient is None else gradient.to(dtype)
        optimizer.step()
        for own, weight in zip(rows, weights, strict=True):
            own.append(weight.detach().flatten().clone())
    return [torch.stack(own) for own in rows]


def follows_within(tolerance: float) -> IsNear:
    """Return a comparison of trajectories that allows this share of the way from the start as a difference."""
    return lambda answer, value: find_miss(answer, value, tolerance) is None


def find_miss(seen: Trajectory, wanted: Trajectory, tolerance: float) -> tuple[int, int] | None:
    """Return the first step, counted from 1, and the tensor that differ from a right trajectory; None if none does.

    NaN equals NaN only.

    Raises:
        ValueError: if the trajectories differ in shape.
    """
    if [tensor.shape for tensor in seen] != [tensor.shape for tensor in wanted]:
        raise ValueError("the trajectories differ in their tensors or steps")
    is_off = torch.stack([~_are_near(own, right, tolerance) for own, right in zip(seen, wanted, strict=True)])
    if not bool(is_off.any()):
        return None
    step = int(is_off.any(dim=0).int().argmax())  # [tensors, 1 + steps]
    return step, int(is_off[:, step].int().argmax())


def _are_near(seen: Tensor, wanted: Tensor, tolerance: float) -> Tensor:
    """Return for each step whether the numbers of one tensor agree, [1 + steps]."""
    start, is_nan = wanted[0], wanted.isnan()
    difference = (seen.double() - wanted.double()).masked_fill(is_nan, 0).norm(dim=1)
    movement = (wanted.double() - start.double()).masked_fill(is_nan, 0).norm(dim=1)
    are_close = difference <= tolerance * movement + ROUNDING * start.double().norm()
    agree: Tensor = are_close & (seen.isnan() == is_nan).all(dim=1)
    return agree


def never_move(seen: Trajectory) -> bool:
    """Return whether no weight ever moves."""
    return all(torch.equal(row, tensor[0]) for tensor in seen for row in tensor)

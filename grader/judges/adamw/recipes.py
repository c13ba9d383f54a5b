"""The steps that Adam or AdamW takes when one decision or another is made otherwise."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from grader.cases.adamw import STEPS, UpdateCase


@dataclass(frozen=True)
class Recipe:
    """The decisions in one step of AdamW; as they stand, they are PyTorch's.

    Attributes:
        first: How the first moment is updated: "mean", "sum", "swapped" or "none".
        second: How the second moment is updated: "mean", "sum", "swapped", "of_mean", "without_square" or "total".
        first_correction: Of the first moment: "power", "once" or "none".
        second_correction: Of the second moment: "power", "once" or "none".
        keeps_corrected: Whether the corrected moments take the place of the moments.
        betas: The betas in the order of their use.
        has_root: Whether the square root of the second moment is taken.
        epsilon: "outside" the root, "inside", "in_root_uncorrected", "none".
        decay: "decoupled", "in_gradient", "none", "after", "without_rate", "half", "grows", "in_update".
        rate: Factor of the learning rate.
        gradient: Factor of the gradient.
        clock: First value of the step count: 1, 0 or 2.
        stride: How much the step count grows in a step.
        clip: The gradient is cut to 1 by "value" or by its "norm", or not: "no".
        shared_clock: Whether one count serves all tensors: "no", "steps" of the optimizer, or "tensors" updated.
        missing: A tensor without gradient is "skipped", "decayed", or updated with a gradient of "zero".
        group: Whose options a tensor has: "own", or those of the "first" or "last" group.
        decay_group: Whose weight decay it has: "own", "first" or "last".
        is_rate_fixed: Whether the learning rate of the first step is kept.
        rule: "adam", or the direction of "sgd" or "momentum".
        fixed_betas: Betas that are used whatever the options are.
        fixed_eps: An epsilon that is used whatever the options are.
        fixed_decays: Decays of the groups that are used whatever the options are.
    """

    first: str = "mean"
    second: str = "mean"
    first_correction: str = "power"
    second_correction: str = "power"
    keeps_corrected: bool = False
    betas: tuple[int, int] = (0, 1)
    has_root: bool = True
    epsilon: str = "outside"
    decay: str = "decoupled"
    rate: float = 1.0
    gradient: float = 1.0
    clock: int = 1
    stride: int = 1
    clip: str = "no"
    shared_clock: str = "no"
    missing: str = "skipped"
    group: str = "own"
    decay_group: str = "own"
    is_rate_fixed: bool = False
    rule: str = "adam"
    fixed_betas: tuple[float, float] | None = None
    fixed_eps: float | None = None
    fixed_decays: tuple[float, ...] | None = None


RIGHT = Recipe()


def simulate(case: UpdateCase, index: int, recipe: Recipe) -> Iterator[Tensor]:
    """Yield one tensor after each step that a recipe takes, in float64."""
    walk = _Walk(case, index, recipe)
    for step in range(1, STEPS + 1):
        yield walk.take(step)


class _Walk:
    """One tensor on its way through the steps."""

    def __init__(self, case: UpdateCase, index: int, recipe: Recipe):
        self.case, self.index, self.recipe = case, index, recipe
        groups = {"own": case.groups[index], "first": 0, "last": len(case.decays) - 1}
        self.group = groups[recipe.group]
        decay_group = self.group if recipe.decay_group == "own" else groups[recipe.decay_group]
        self.decay = (recipe.fixed_decays or case.decays)[decay_group]
        self.betas = [(recipe.fixed_betas or case.betas)[place] for place in recipe.betas]
        self.eps = case.eps if recipe.fixed_eps is None else recipe.fixed_eps
        self.weight = case.make_weights()[index].double()
        self.first, self.second = torch.zeros_like(self.weight), torch.zeros_like(self.weight)
        self.own_steps = 0

    def take(self, step: int) -> Tensor:
        """Take a step, counted from 1, and return the weight after it."""
        recipe, gradients = self.recipe, self.case.gradients(step)
        rate = recipe.rate * self.case.learning_rate(self.group, 1 if recipe.is_rate_fixed else step)
        gradient = gradients[self.index]
        if gradient is None:
            if recipe.missing == "decayed":
                self.weight = self.weight * (1 - rate * self.decay)
            if recipe.missing != "zero":
                return self.weight
            gradient = torch.zeros_like(self.weight)
        self.own_steps += 1
        gradient = _clipped(recipe.gradient * gradient.double(), recipe.clip)
        self.weight = self._updated(gradient, rate, self._clock(step, gradients))
        return self.weight

    def _clock(self, step: int, gradients: Sequence[Tensor | None]) -> int:
        number = {"no": self.own_steps, "steps": step}.get(self.recipe.shared_clock)
        if number is None:  # each tensor that is updated moves the one count on
            present = [[g is not None for g in self.case.gradients(earlier)] for earlier in range(1, step)]
            number = sum(map(sum, present)) + sum(gradient is not None for gradient in gradients[: self.index + 1])
        return (number - 1 + self.recipe.clock) * self.recipe.stride

    def _updated(self, gradient: Tensor, rate: float, clock: int) -> Tensor:
        recipe, weight, decay = self.recipe, self.weight, self.decay
        if recipe.decay == "in_gradient":
            gradient = gradient + decay * weight
        factors = {"decoupled": 1 - rate * decay, "without_rate": 1 - decay, "grows": 1 + rate * decay}
        factors["half"] = 1 - rate * decay / 2
        direction = self._direction(gradient, clock)
        if recipe.decay == "in_update":
            direction = direction + decay * decay * weight
        weight = weight * factors.get(recipe.decay, 1.0) - rate * direction
        return weight * (1 - rate * decay) if recipe.decay == "after" else weight

    def _direction(self, gradient: Tensor, clock: int) -> Tensor:
        recipe, (beta1, beta2), eps = self.recipe, self.betas, self.eps
        self.first = _moment(self.first, gradient, beta1, recipe.first)
        if recipe.rule != "adam":
            return gradient if recipe.rule == "sgd" else self.first
        square = {"of_mean": self.first**2, "without_square": gradient.abs()}
        self.second = _moment(self.second, square.get(recipe.second, gradient**2), beta2, recipe.second)
        first_divisor = _correction(beta1, clock, recipe.first_correction)
        second_divisor = _correction(beta2, clock, recipe.second_correction)
        if not first_divisor or not second_divisor:
            return torch.full_like(gradient, torch.nan)
        first, second = self.first / first_divisor, self.second / second_divisor
        if recipe.keeps_corrected:
            self.first, self.second = first, second
        if recipe.epsilon == "inside":
            return first / (second + eps).sqrt()
        if recipe.epsilon == "in_root_uncorrected":
            return first * math.sqrt(second_divisor) / (self.second.sqrt() + eps)
        root = second.sqrt() if recipe.has_root else second
        return first / (root if recipe.epsilon == "none" else root + eps)


def _moment(moment: Tensor, number: Tensor, beta: float, kind: str) -> Tensor:
    if kind == "none":
        return number
    if kind == "total":
        return moment + number
    if kind == "sum":
        return beta * moment + number
    if kind == "swapped":
        return (1 - beta) * moment + beta * number
    return beta * moment + (1 - beta) * number


def _clipped(gradient: Tensor, clip: str) -> Tensor:
    if clip == "value":
        return gradient.clamp(-1, 1)
    return gradient / gradient.norm().clamp(min=1) if clip == "norm" else gradient


def _correction(beta: float, clock: int, kind: str) -> float:
    divisors: dict[str, float] = {"power": 1 - beta**clock, "once": 1 - beta}
    return divisors.get(kind, 1.0)

"""The steps that Adam or AdamW takes when one decision or another is made otherwise."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from grader.testbed.optimizer_steps import STEPS, UpdateCase


@dataclass(frozen=True)
class Recipe:
    """The decisions in one step of AdamW; as they stand, they are PyTorch's.

    Attributes:
        first: How the first moment is updated: "mean", "sum", "swapped" or "none".
        second: How the second moment is updated: as the first, or "of_mean", "without_square", "unsquared", "total".
        first_correction: Of the first moment: "power", "once", "none", "product", "multiplied", "power_alone",
            or "running": 1 minus the product of the betas of all steps, which differs where betas change.
        second_correction: Of the second moment: as the first, or "after_root".
        keeps: What the state keeps: "moments", "corrected" ones, "corrected_first" or "corrected_second" alone, the
            second moment "rooted", or "none" of them.
        reads: Whether the step is taken with the "new" moments, or with the "old" ones.
        betas: The betas in the order of their use.
        has_root: Whether the square root of the second moment is taken.
        epsilon: "outside" the root, "inside", "in_root_uncorrected", "none".
        decay: "decoupled", "in_gradient", "none", "after", "without_rate", "half", "grows", "in_update",
            "rate_squared", "twice", "as_factor", or of "matrices" only.
        rate: Factor of the learning rate.
        gradient: Factor of the gradient.
        clock: First value of the step count: 1, 0 or 2.
        stride: How much the step count grows in a step.
        clip: The gradient is cut to 1 by "value" or by its "norm", or not: "no".
        shared_clock: Whether one count serves all tensors: "no", "steps" of the optimizer, or "tensors" updated.
        missing: A tensor without gradient is "skipped", "decayed", updated with a gradient of "zero", its state is
            "forgotten", or it "ends_group" or "ends_step": the tensors behind it are not updated.
        is_zero_skipped: Whether a gradient of zeros counts as missing.
        updated: Which tensors are: "all", those of the "first_group", or the "first_of_group".
        group: Whose options a tensor has: "own", or those of the "first" or "last" group.
        rate_group: Whose learning rate it has, where that differs from `group`.
        decay_group: Whose weight decay.
        betas_group: Whose betas.
        eps_group: Whose epsilon.
        early: Options that are kept from the first step.
        rule: "adam", the direction of "sgd" or "momentum", or "still": no step but the decay.
        fixed_betas: Betas that are used whatever the options are.
        fixed_eps: An epsilon that is used whatever the options are.
        fixed_rate: A learning rate.
        fixed_decay: A decay.
        fixed_decays: Decays of the groups.
    """

    first: str = "mean"
    second: str = "mean"
    first_correction: str = "power"
    second_correction: str = "power"
    keeps: str = "moments"
    reads: str = "new"
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
    is_zero_skipped: bool = False
    updated: str = "all"
    group: str = "own"
    rate_group: str = "own"
    decay_group: str = "own"
    betas_group: str = "own"
    eps_group: str = "own"
    early: tuple[str, ...] = ()
    rule: str = "adam"
    fixed_betas: tuple[float, float] | None = None
    fixed_eps: float | None = None
    fixed_rate: float | None = None
    fixed_decay: float | None = None
    fixed_decays: tuple[float, ...] | None = None


RIGHT = Recipe()
RUNNING_SHARES = Recipe(first_correction="running", second_correction="running")


def simulate(case: UpdateCase, index: int, recipe: Recipe) -> Iterator[Tensor]:
    """Yield one tensor after each step that a recipe takes, in float64."""
    walk = _Walk(case, index, recipe)
    for step in range(1, STEPS + 1):
        yield walk.take(step)


class _Walk:
    """One tensor on its way through the steps."""

    def __init__(self, case: UpdateCase, index: int, recipe: Recipe):
        self.case, self.index, self.recipe = case, index, recipe
        members = case.members(case.groups[index])
        updated = {"all": True, "first_group": case.groups[index] == 0, "first_of_group": index == members[0]}
        self.is_updated = updated[recipe.updated]
        self.weight = case.make_weights()[index].double()
        self.first, self.second = torch.zeros_like(self.weight), torch.zeros_like(self.weight)
        self.own_steps = 0
        self.left = (1.0, 1.0)  # the products of the betas of all steps
        self.options: dict[str, Any] = {}

    def take(self, step: int) -> Tensor:
        """Take a step, counted from 1, and return the weight after it."""
        recipe, gradients = self.recipe, self.case.gradients(step)
        self.options = self._options(step)
        gradient = gradients[self.index]
        if gradient is not None and recipe.is_zero_skipped and not gradient.any():
            return self.weight
        if not self.is_updated or self._is_behind_missing(gradients):
            return self.weight
        if gradient is None:
            if recipe.missing == "decayed":
                self.weight = self.weight * (1 - self.options["lr"] * self.options["weight_decay"])
            if recipe.missing == "forgotten":
                self.first, self.second, self.own_steps = self.first * 0, self.second * 0, 0
            if recipe.missing != "zero":
                return self.weight
            gradient = torch.zeros_like(self.weight)
        self.own_steps += 1
        gradient = _clipped(recipe.gradient * gradient.double(), recipe.clip)
        self.weight = self._updated(gradient, self._clock(step, gradients))
        return self.weight

    def _options(self, step: int) -> dict[str, Any]:
        recipe, case = self.recipe, self.case
        owners = {"lr": recipe.rate_group, "weight_decay": recipe.decay_group}
        owners |= {"betas": recipe.betas_group, "eps": recipe.eps_group}
        groups = {"own": case.groups[self.index], "first": 0, "last": len(case.decays) - 1}
        options = {}
        for name, owner in owners.items():
            group = groups[recipe.group if owner == "own" else owner]
            options[name] = case.options(group, 1 if name in recipe.early else step)[name]
        decay = recipe.fixed_decays[groups["own"]] if recipe.fixed_decays else recipe.fixed_decay
        fixed = {"lr": recipe.fixed_rate, "betas": recipe.fixed_betas, "eps": recipe.fixed_eps, "weight_decay": decay}
        options |= {name: value for name, value in fixed.items() if value is not None}
        return options | {"lr": recipe.rate * options["lr"]}

    def _is_behind_missing(self, gradients: Sequence[Tensor | None]) -> bool:
        """Tell whether a tensor without gradient has ended the walk before this one."""
        group, ended = self.case.groups[self.index], False
        if self.recipe.missing in ("ends_group", "ends_step"):
            ended = any(gradients[index] is None for index in self.case.members(group) if index < self.index)
        if self.recipe.missing == "ends_step":
            earlier = [index for other in range(group) for index in self.case.members(other)]
            ended = ended or any(gradients[index] is None for index in earlier)
        return ended

    def _clock(self, step: int, gradients: Sequence[Tensor | None]) -> int:
        number = {"no": self.own_steps, "steps": step}.get(self.recipe.shared_clock)
        if number is None:  # each tensor that is updated moves the one count on
            present = [[g is not None for g in self.case.gradients(earlier)] for earlier in range(1, step)]
            number = sum(map(sum, present)) + sum(gradient is not None for gradient in gradients[: self.index + 1])
        return (number - 1 + self.recipe.clock) * self.recipe.stride

    def _updated(self, gradient: Tensor, clock: int) -> Tensor:
        recipe, weight = self.recipe, self.weight
        rate: float = self.options["lr"]
        decay: float = self.options["weight_decay"]
        if recipe.decay == "in_gradient":
            gradient = gradient + decay * weight
        matrices = 1 - rate * decay * (weight.dim() > 1)
        factors = {"decoupled": 1 - rate * decay, "without_rate": 1 - decay, "grows": 1 + rate * decay}
        factors |= {"half": 1 - rate * decay / 2, "rate_squared": 1 - rate * rate * decay, "as_factor": decay}
        factors |= {"twice": (1 - rate * decay) ** 2, "matrices": matrices}
        direction = self._direction(gradient, clock)
        if recipe.decay == "in_update":
            direction = direction + decay * decay * weight
        weight = weight * factors.get(recipe.decay, 1.0) - rate * direction
        return weight * (1 - rate * decay) if recipe.decay == "after" else weight

    def _direction(self, gradient: Tensor, clock: int) -> Tensor:
        recipe, old = self.recipe, (self.first, self.second)
        beta1, beta2 = (self.options["betas"][place] for place in recipe.betas)
        self.left = (self.left[0] * beta1, self.left[1] * beta2)
        self.first = _moment(self.first, gradient, beta1, recipe.first)
        if recipe.rule != "adam":
            return {"sgd": gradient, "momentum": self.first, "still": 0 * gradient}[recipe.rule]
        square = {"of_mean": self.first**2, "without_square": gradient.abs(), "unsquared": gradient}
        self.second = _moment(self.second, square.get(recipe.second, gradient**2), beta2, recipe.second)
        first_divisor = _correction(beta1, clock, recipe.first_correction, self.left[0])
        second_divisor = _correction(beta2, clock, recipe.second_correction, self.left[1])
        if not first_divisor or not second_divisor:
            return torch.full_like(gradient, torch.nan)
        moments = old if recipe.reads == "old" else (self.first, self.second)
        first, second = moments[0] / first_divisor, moments[1] / second_divisor
        self._keep(first, second)
        return self._divided(first, second, moments[1], (second_divisor, 1 - beta2**clock))

    def _keep(self, first: Tensor, second: Tensor) -> None:
        """Put into the state what the recipe keeps in place of the moments."""
        keeps = self.recipe.keeps
        if keeps in ("corrected", "corrected_first"):
            self.first = first
        if keeps in ("corrected", "corrected_second"):
            self.second = second
        if keeps == "rooted":
            self.second = self.second.sqrt()
        if keeps == "none":
            self.first, self.second = torch.zeros_like(first), torch.zeros_like(second)

    def _divided(self, first: Tensor, second: Tensor, uncorrected: Tensor, shares: tuple[float, float]) -> Tensor:
        """Return the corrected first moment over the root of the second; `shares` divide the second, or its root."""
        recipe, (divisor, share) = self.recipe, shares
        eps: float = self.options["eps"]
        if recipe.epsilon == "inside":
            return first / (second + eps).sqrt()
        if recipe.epsilon == "in_root_uncorrected":
            return first * math.sqrt(divisor) / (uncorrected.sqrt() + eps)
        root = second.sqrt() if recipe.has_root else second
        if recipe.second_correction == "after_root":
            root = root / share
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


def _correction(beta: float, clock: int, kind: str, left: float) -> float:
    divisors: dict[str, float] = {"power": 1 - beta**clock, "once": 1 - beta, "product": 1 - beta * clock}
    if kind == "multiplied":
        return 1 / (1 - beta**clock)
    divisors |= {"power_alone": beta**clock, "running": 1 - left}
    return divisors.get(kind, 1.0)

"""The steps that Adafactor takes when one decision or another is made otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import torch
from torch import Tensor

from grader.cases.adafactor import STEPS, AdafactorCase
from grader.judges.adafactor.second_moments import Estimate, SecondMoment

SMALLEST_SCALE = 1e-3


@dataclass(frozen=True)
class Recipe:
    """The decisions in one step of Adafactor; as they stand, they are those of transformers.

    Attributes:
        estimate: The decisions in its second moment.
        direction: The gradient over the "root" of the estimate; over the "estimate"; "sgd", the gradient itself; over
            the root plus epsilon, "root_and_eps"; a "mean" of the updates, with 0.9; or that of "adam".
        clip: The update is divided by its root mean square over the threshold where that is larger than 1, "rms"; or
            it is not clipped, "none"; "always" divided; clipped by its "norm", by "value", by its "largest" number;
            with the threshold "multiplied"; or the "gradient" is clipped.
        fixed_threshold: A threshold that is used whatever the option is.
        scale: The learning rate is scaled by the weight's root mean square where it is asked for, "own"; "never";
            "always"; by its "norm"; without the smallest scale, "no_floor", or with it "added"; with another one,
            "eps"; as the weight is after the decay, "after"; or "inverse".
        decay: "decoupled", "in_gradient", "none", "after", "without_rate", "half", "grows", or "unscaled" with the
            learning rate as it is before it is scaled.
        rate: Factor of the learning rate.
        sign: Of the update: 1, or -1.
        clock: First value of the step count.
        stride: How much the step count grows in a step.
        shared_clock: Whether one count serves all tensors: "no", "steps" of the optimizer, or "tensors" updated.
        missing: A tensor without gradient is "skipped", "decayed", or updated with a gradient of "zero".
        silent: A tensor whose gradient is zero is updated as any other, "updated", or "skipped".
        group: Whose options a tensor has: "own", or those of the "first" or "last" group.
        decay_group: Whose weight decay it has: "own" or "first".
        clip_group: Whose threshold it has: "own" or "first".
        is_rate_fixed: Whether the learning rate of the first step is kept.
        is_relative: Whether the learning rate is at most one over the root of the step.
        rate_falls: Whether it is multiplied by one over the root of the step.
        rate_group: Whose learning rate a tensor has: "own" or "first".
        scale_group: Whose scale_parameter it has: "own", "first" or "last".
    """

    estimate: Estimate = field(default_factory=Estimate)
    direction: str = "root"
    clip: str = "rms"
    fixed_threshold: float | None = None
    scale: str = "own"
    decay: str = "decoupled"
    rate: float = 1.0
    sign: float = 1.0
    clock: int = 1
    stride: int = 1
    shared_clock: str = "no"
    missing: str = "skipped"
    silent: str = "updated"
    group: str = "own"
    decay_group: str = "own"
    clip_group: str = "own"
    is_rate_fixed: bool = False
    is_relative: bool = False
    rate_falls: bool = False
    rate_group: str = "own"
    scale_group: str = "own"


RIGHT = Recipe()


class Drawn:
    """A case with its weights and gradients, drawn once, in float64.

    Attributes:
        case: The case.
        weights: Each tensor at the start.
        gradients: Of each step, the gradient of each tensor, or None.
    """

    def __init__(self, case: AdafactorCase):
        self.case = case
        self.weights = [weight.double() for weight in case.make_weights()]
        self.gradients = [
            [None if gradient is None else gradient.double() for gradient in case.gradients(step)]
            for step in range(1, STEPS + 1)
        ]


def simulate(drawn: Drawn, index: int, recipe: Recipe) -> Iterator[Tensor]:
    """Yield one tensor after each step that a recipe takes, in float64."""
    walk = _Walk(drawn, index, recipe)
    for step in range(1, STEPS + 1):
        yield walk.take(step)


def root_mean_square(tensor: Tensor) -> Tensor:
    """Return the root of the mean of the squares."""
    return tensor.square().mean().sqrt()


class _Walk:
    """One tensor on its way through the steps."""

    def __init__(self, drawn: Drawn, index: int, recipe: Recipe):
        self.drawn, self.index, self.recipe = drawn, index, recipe
        self.case = case = drawn.case
        groups = {"own": case.groups[index], "first": 0, "last": len(case.decays) - 1}
        self.group = groups[recipe.group]
        self.decay = case.decays[self.group if recipe.decay_group == "own" else 0]
        own_threshold = case.clip_thresholds[self.group if recipe.clip_group == "own" else 0]
        self.threshold = own_threshold if recipe.fixed_threshold is None else recipe.fixed_threshold
        self.weight = drawn.weights[index]
        self.second = SecondMoment(recipe.estimate, case.decay_rate, case.eps)
        self.mean, self.whole = torch.zeros_like(self.weight), torch.zeros_like(self.weight)
        self.own_steps = 0
        self.size_of: dict[str, float] = {}

    def take(self, step: int) -> Tensor:
        """Take a step, counted from 1, and return the weight after it."""
        recipe, gradients = self.recipe, self.drawn.gradients[step - 1]
        rate_group = self.group if recipe.rate_group == "own" else 0
        rate = recipe.rate * self.case.learning_rate(rate_group, 1 if recipe.is_rate_fixed else step)
        gradient = gradients[self.index]
        if gradient is not None and recipe.silent == "skipped" and not gradient.any():
            return self.weight
        if gradient is None:
            if recipe.missing == "decayed":
                self.weight = self.weight * (1 - self._scaled(rate) * self.decay)
            if recipe.missing != "zero":
                return self.weight
            gradient = torch.zeros_like(self.weight)
        self.own_steps += 1
        clock = self._clock(step)
        if recipe.is_relative:
            rate = min(rate, max(clock, 1) ** -0.5)
        if recipe.rate_falls:
            rate *= max(clock, 1) ** -0.5
        self.weight = self._updated(gradient, rate, clock)
        return self.weight

    def _clock(self, step: int) -> int:
        number = {"no": self.own_steps, "steps": step}.get(self.recipe.shared_clock)
        if number is None:  # each tensor that is updated moves the one count on
            present = [[gradient is not None for gradient in row] for row in self.drawn.gradients[:step]]
            number = sum(map(sum, present[:-1])) + sum(present[-1][: self.index + 1])
        return (number - 1 + self.recipe.clock) * self.recipe.stride

    def _updated(self, gradient: Tensor, rate: float, clock: int) -> Tensor:
        recipe, weight, decay = self.recipe, self.weight, self.decay
        if recipe.decay == "in_gradient":
            gradient = gradient + decay * weight
        scaled = self._scaled(rate)
        factors = {"decoupled": 1 - scaled * decay, "without_rate": 1 - decay, "grows": 1 + scaled * decay}
        factors |= {
            "half": 1 - scaled * decay / 2,
            "unscaled": 1 - rate * decay,
            "squared_rate": 1 - scaled * scaled * decay,
        }
        kept = weight * factors.get(recipe.decay, 1.0)
        if recipe.scale == "after":
            self.weight = kept
            scaled = self._scaled(rate)
        update = self._direction(gradient, clock)
        if recipe.scale in ("of_update", "of_gradient"):
            self.size_of = {
                "of_update": float(root_mean_square(update)),
                "of_gradient": float(root_mean_square(gradient)),
            }
            scaled = self._scaled(rate)
            kept = weight * (1 - scaled * decay)
        weight = kept - recipe.sign * scaled * update
        return weight * (1 - scaled * decay) if recipe.decay == "after" else weight

    def _scaled(self, rate: float) -> float:
        flags = {
            "own": self.case.is_scaled[self.group],
            "first": self.case.is_scaled[0],
            "last": self.case.is_scaled[-1],
        }
        kind, is_scaled = self.recipe.scale, flags[self.recipe.scale_group]
        if kind == "never" or (not is_scaled and kind not in ("always", "inverse")):
            return rate
        size = float(root_mean_square(self.weight))
        if kind == "inverse":  # scaled where it is not asked for
            return rate if is_scaled else rate * max(SMALLEST_SCALE, size)
        if kind == "norm":
            size *= self.weight.numel() ** 0.5
        if kind in ("mean_size", "mean_square"):
            size = float(self.weight.abs().mean() if kind == "mean_size" else self.weight.square().mean())
        if kind in ("of_update", "of_gradient"):
            size = self.size_of.get(kind, size)
        if kind == "smaller":
            return rate * min(SMALLEST_SCALE, size)
        floors = {"no_floor": 0.0, "eps": self.case.eps, "tiny": 1e-6, "large": 1e-2}
        return rate * (size + SMALLEST_SCALE if kind == "added" else max(floors.get(kind, SMALLEST_SCALE), size))

    def _direction(self, gradient: Tensor, clock: int) -> Tensor:
        recipe = self.recipe
        if recipe.clip == "gradient":
            gradient = gradient / (root_mean_square(gradient) / self.threshold).clamp(min=1.0)
        if recipe.direction == "adam":
            self.mean = 0.9 * self.mean + 0.1 * gradient
            self.whole = 0.999 * self.whole + 0.001 * gradient.square()
            return self.mean / (1 - 0.9**clock) / ((self.whole / (1 - 0.999**clock)).sqrt() + 1e-8)
        second = self.second.update(gradient, clock)
        divisors = {"root": second.sqrt(), "estimate": second, "root_and_eps": second.sqrt() + self.case.eps}
        divisors |= {"mean": divisors["root"], "velocity": divisors["root"]}
        update = recipe.estimate.gradient * gradient / divisors.get(recipe.direction, torch.ones_like(second))
        if recipe.decay == "in_update":
            update = update + self.decay * self.weight
        update = _clipped(update, self.threshold, recipe.clip)
        if recipe.direction == "velocity":
            self.mean = 0.9 * self.mean + update
            return self.mean
        if recipe.direction == "mean":
            self.mean = 0.9 * self.mean + 0.1 * update
            return self.mean
        return update


def _clipped(update: Tensor, threshold: float, clip: str) -> Tensor:
    if clip == "value":
        return update.clamp(-threshold, threshold)
    size = root_mean_square(update)
    ratios = {
        "rms": size / threshold,
        "always": size / threshold,
        "norm": torch.linalg.vector_norm(update) / threshold,
        "largest": update.abs().max() / threshold,
        "multiplied": size * threshold,
        "lower": size / threshold,
        "mean_square": size.square() / threshold,
        "mean_size": update.abs().mean() / threshold,
    }
    ratio = ratios.get(clip, torch.ones_like(size))
    if clip == "lower":
        ratio = ratio.clamp(1e-30, 1.0)
    clipped: Tensor = update / (ratio if clip in ("always", "lower") else ratio.clamp(min=1.0))
    return clipped

"""The steps that Adafactor takes when one decision or another is made otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from grader.judging.lessons.adafactor.recipes import Recipe
from grader.judging.lessons.adafactor.second_moments import Estimate, SecondMoment
from grader.lessons.adafactor.updates import STEPS, AdafactorCase

SMALLEST_SCALE = 1e-3


class Drawn:
    """A case with its weights, gradients and options, drawn once, in float64.

    Attributes:
        case: The case.
        weights: Each tensor at the start.
        gradients: Of each step, the gradient of each tensor, or None.
        options: Of each step, the options of each group.
    """

    def __init__(self, case: AdafactorCase):
        self.case = case
        self.weights = [weight.double() for weight in case.make_weights()]
        steps = range(1, STEPS + 1)
        self.gradients = [
            [None if gradient is None else gradient.double() for gradient in case.gradients(step)] for step in steps
        ]
        self.options = [[case.options(group, step) for group in range(len(case.decays))] for step in steps]

    @cached_property
    def joint_sizes(self) -> list[Tensor]:
        """Of each step, the root mean square of all updates together, before any is clipped."""
        seconds, clocks, sizes = [SecondMoment(Estimate()) for _ in self.weights], [0] * len(self.weights), []
        for gradients, options in zip(self.gradients, self.options, strict=True):
            updates = []
            for index, gradient in enumerate(gradients):
                if gradient is not None:
                    clocks[index] += 1
                    own = options[self.case.groups[index]]
                    second = seconds[index].update(gradient, clocks[index], own["decay_rate"], own["eps"])
                    updates.append((gradient / second.sqrt()).flatten())
            sizes.append(root_mean_square(torch.cat(updates)))
        return sizes


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
        case = drawn.case
        self.groups = {"own": case.groups[index], "first": 0, "last": len(case.decays) - 1}
        self.weight = drawn.weights[index]
        self.second = SecondMoment(recipe.estimate)
        self.mean, self.whole = torch.zeros_like(self.weight), torch.zeros_like(self.weight)
        self.own_steps = 0
        self.size_of: dict[str, float] = {}
        self.options: dict[str, Any] = {}

    def take(self, step: int) -> Tensor:
        """Take a step, counted from 1, and return the weight after it."""
        recipe = self.recipe
        self.options = self._read(step)
        rate = recipe.rate * self.options["lr"]
        gradient = self.drawn.gradients[step - 1][self.index]
        if gradient is not None and recipe.silent == "skipped" and not gradient.any():
            return self.weight
        if gradient is None:
            if recipe.missing == "decayed":
                self.weight = self.weight * (1 - self._scaled(rate) * self.options["weight_decay"])
            if recipe.missing != "zero":
                return self.weight
            gradient = torch.zeros_like(self.weight)
        self.own_steps += 1
        clock = self._clock(step)
        if recipe.is_relative:
            rate = min(rate, max(clock, 1) ** -0.5)
        if recipe.rate_falls:
            rate *= max(clock, 1) ** -0.5
        self.weight = self._updated(gradient, rate, clock, step)
        return self.weight

    def _read(self, step: int) -> dict[str, Any]:
        """Return the options at a step, each from where the recipe reads it."""
        group = self.groups[self.recipe.group]
        options = dict(self.drawn.options[step - 1][group])
        for name, place in self.recipe.read:
            row = self.drawn.options[0 if place == "start" else step - 1]
            options[name] = row[self.groups.get(place, group)][name]
        if self.recipe.fixed_threshold is not None:
            options["clip_threshold"] = self.recipe.fixed_threshold
        return options

    def _clock(self, step: int) -> int:
        number = {"no": self.own_steps, "steps": step}.get(self.recipe.shared_clock)
        if number is None:  # each tensor that is updated moves the one count on
            present = [[gradient is not None for gradient in row] for row in self.drawn.gradients[:step]]
            number = sum(map(sum, present[:-1])) + sum(present[-1][: self.index + 1])
        return (number - 1 + self.recipe.clock) * self.recipe.stride

    def _updated(self, gradient: Tensor, rate: float, clock: int, step: int) -> Tensor:
        recipe, weight, decay = self.recipe, self.weight, self.options["weight_decay"]
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
        update = self._direction(gradient, clock, step)
        if recipe.scale in ("of_update", "of_gradient"):
            self.size_of = {
                "of_update": float(root_mean_square(update)),
                "of_gradient": float(root_mean_square(gradient)),
            }
            scaled = self._scaled(rate)
            kept = weight * (1 - scaled * decay)
        moved: Tensor = kept - recipe.sign * scaled * update * (rate if recipe.is_rate_squared else 1.0)
        return moved * (1 - scaled * decay) if recipe.decay == "after" else moved

    def _scaled(self, rate: float) -> float:
        kind, is_scaled = self.recipe.scale, self.options["scale_parameter"]
        if kind == "never" or (not is_scaled and kind not in ("always", "inverse")):
            return rate
        size = float(root_mean_square(self.weight))
        if kind == "inverse":  # scaled where it is not asked for
            return rate if is_scaled else rate * max(SMALLEST_SCALE, size)
        if kind == "matrices" and self.weight.dim() < 2:
            return rate
        if kind == "mean_size":
            size = float(self.weight.abs().mean())
        if kind == "deviation":
            size = float(self.weight.std()) if self.weight.numel() > 1 else 0.0
        sizes: dict[str, float] = {"norm": size * self.weight.numel() ** 0.5, "mean_square": size * size} | self.size_of
        size = sizes.get(kind, size)
        floors = {"no_floor": 0.0, "eps": self.options["eps"], "tiny": 1e-6, "large": 1e-2}
        largest: float = max(floors.get(kind, SMALLEST_SCALE), size)
        special = {
            "smaller": rate * min(SMALLEST_SCALE, size),
            "added": rate * (size + SMALLEST_SCALE),
            "divided": rate / largest if largest else rate,
            "on_rate": max(SMALLEST_SCALE, rate * size),
        }
        return special.get(kind, rate * largest)

    def _direction(self, gradient: Tensor, clock: int, step: int) -> Tensor:
        recipe, options = self.recipe, self.options
        if recipe.clip == "gradient":
            gradient = gradient / (root_mean_square(gradient) / options["clip_threshold"]).clamp(min=1.0)
        if recipe.direction in ("adam", "adam_with_eps"):
            eps = 1e-8 if recipe.direction == "adam" else options["eps"]
            self.mean = 0.9 * self.mean + 0.1 * gradient
            self.whole = 0.999 * self.whole + 0.001 * gradient.square()
            return self.mean / (1 - 0.9**clock) / ((self.whole / (1 - 0.999**clock)).sqrt() + eps)
        second = self.second.update(gradient, clock, options["decay_rate"], options["eps"])
        update = recipe.estimate.gradient * self._divided(gradient, second)
        if recipe.decay == "in_update":
            update = update + options["weight_decay"] * self.weight
        update = self._clipped(update, gradient, step)
        if recipe.direction in ("mean", "velocity"):
            self.mean = 0.9 * self.mean + (0.1 if recipe.direction == "mean" else 1.0) * update
            return self.mean
        return update

    def _divided(self, gradient: Tensor, second: Tensor) -> Tensor:
        recipe, kind = self.recipe, self.recipe.direction
        if kind in ("sgd", "sign", "estimate"):
            return {"sgd": gradient, "sign": gradient.sign(), "estimate": gradient / second}[kind]
        root = ((second + recipe.in_root).sqrt() + recipe.beside_root).clamp(min=recipe.least_root)
        if kind == "times_root":
            return gradient * root
        return gradient / (root + self.options["eps"] if kind == "root_and_eps" else root)

    def _clipped(self, update: Tensor, gradient: Tensor, step: int) -> Tensor:
        threshold, clip = self.options["clip_threshold"], self.recipe.clip
        if clip == "value":
            return update.clamp(-threshold, threshold)
        size = root_mean_square(update)
        if clip == "larger":
            return update / size.clamp(min=threshold)
        if clip == "joint":
            size = self.drawn.joint_sizes[step - 1]
        sizes: dict[str, Callable[[], Tensor]] = {
            "none": lambda: torch.zeros_like(size),
            "gradient": lambda: torch.zeros_like(size),
            "norm": lambda: torch.linalg.vector_norm(update),
            "largest": lambda: update.abs().max(),
            "multiplied": lambda: size * threshold * threshold,
            "mean_square": size.square,
            "mean_size": lambda: update.abs().mean(),
            "deviation": lambda: update.std() if update.numel() > 1 else size,
            "by_gradient": lambda: root_mean_square(gradient),
        }
        ratio = sizes.get(clip, lambda: size)() / threshold
        if clip == "lower":
            ratio = ratio.clamp(1e-30, 1.0)
        clipped: Tensor = update / (ratio if clip in ("always", "lower") else ratio.clamp(min=1.0))
        return clipped

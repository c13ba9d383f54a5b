"""Adam and AdamW with one decision or another made wrong: each misconception as steps that it would take."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

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
        shared_clock: Whether one count serves all tensors: "no", "steps" of the optimizer, or "tensors" updated.
        missing: A tensor without gradient is "skipped", "decayed", or updated with a gradient of "zero".
        group: Whose options a tensor has: "own", or those of the "first" or "last" group.
        decay_group: Whose weight decay it has: "own", "first" or "last".
        is_rate_fixed: Whether the learning rate of the first step is kept.
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
    shared_clock: str = "no"
    missing: str = "skipped"
    group: str = "own"
    decay_group: str = "own"
    is_rate_fixed: bool = False


RIGHT = Recipe()


@dataclass(frozen=True)
class Deviation:
    """A misconception about the step.

    Attributes:
        code: Its stable name.
        changes: The decisions that it makes otherwise.
        look_at: What the learner is told to look at.
    """

    code: str
    changes: dict[str, object]
    look_at: str

    def applied(self, recipe: Recipe) -> Recipe:
        """Return a recipe with these changes."""
        return replace(recipe, **self.changes)  # type: ignore[arg-type]


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
        self.group, self.decay = groups[recipe.group], case.decays[groups[recipe.group]]
        if recipe.decay_group != "own":
            self.decay = case.decays[groups[recipe.decay_group]]
        self.betas = [case.betas[place] for place in recipe.betas]
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
        gradient = recipe.gradient * gradient.double()
        self.weight = self._updated(gradient, rate, self._clock(step, gradients))
        return self.weight

    def _clock(self, step: int, gradients: Sequence[Tensor | None]) -> int:
        number = {"no": self.own_steps, "steps": step}.get(self.recipe.shared_clock)
        if number is None:  # each tensor that is updated moves the one count on
            present = [[g is not None for g in self.case.gradients(earlier)] for earlier in range(1, step)]
            number = sum(map(sum, present)) + sum(gradient is not None for gradient in gradients[: self.index + 1])
        return number - 1 + self.recipe.clock

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
        recipe, (beta1, beta2) = self.recipe, self.betas
        self.first = _moment(self.first, gradient, beta1, recipe.first)
        square = {"of_mean": self.first**2, "without_square": gradient.abs()}
        self.second = _moment(self.second, square.get(recipe.second, gradient**2), beta2, recipe.second)
        first_divisor = _correction(beta1, clock, recipe.first_correction)
        second_divisor = _correction(beta2, clock, recipe.second_correction)
        if not first_divisor or not second_divisor:
            return torch.full_like(gradient, torch.nan)
        first, second, eps = self.first / first_divisor, self.second / second_divisor, self.case.eps
        if recipe.keeps_corrected:
            self.first, self.second = first, second
        if recipe.epsilon == "inside":
            return first / (second + eps).sqrt()
        if recipe.epsilon == "in_root_uncorrected":
            return first / ((self.second.sqrt() + eps) / second_divisor**0.5)
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


def _correction(beta: float, clock: int, kind: str) -> float:
    return {"power": 1 - beta**clock, "once": 1 - beta}.get(kind, 1.0)


MOMENTS = (
    Deviation(
        "bias_not_corrected",
        {"first_correction": "none", "second_correction": "none"},
        "both moments start at zero: what are they in the first steps, and what does a division by 1 - beta**t do?",
    ),
    Deviation(
        "second_moment_not_corrected",
        {"second_correction": "none"},
        "the bias correction of the second moment: its beta is closer to 1, so it starts even smaller",
    ),
    Deviation(
        "first_moment_not_corrected",
        {"first_correction": "none"},
        "the bias correction of the first moment: at step 1 it is a tenth of the gradient with a beta of 0.9",
    ),
    Deviation(
        "correction_without_power",
        {"first_correction": "once", "second_correction": "once"},
        "1 - beta is right at step 1 only: how does the bias fade with the step count?",
    ),
    Deviation(
        "corrected_moments_kept",
        {"keeps_corrected": True},
        "what the state keeps: the moments, or the corrected moments, which are corrected again at the next step",
    ),
    Deviation("betas_swapped", {"betas": (1, 0)}, "which of the two betas belongs to which moment"),
    Deviation(
        "beta_on_the_new_number",
        {"first": "swapped", "second": "swapped"},
        "beta weighs the old mean, 1 - beta the new number: which of them does yours weigh?",
    ),
    Deviation(
        "first_moment_summed",
        {"first": "sum"},
        "the first moment: momentum adds the gradient in full, a mean adds a share of it",
    ),
    Deviation(
        "second_moment_summed",
        {"second": "sum"},
        "the second moment: it is a mean of squares, so a new square counts with 1 - beta",
    ),
    Deviation("moments_summed", {"first": "sum", "second": "sum"}, "means, not sums: a new number counts with 1 - beta"),
    Deviation("momentum_left_out", {"first": "none"}, "the first moment: RMSProp divides the gradient, Adam its mean"),
    Deviation(
        "rmsprop_step",
        {"first": "none", "first_correction": "none", "second_correction": "none"},
        "what Adam adds to RMSProp: a mean of the gradients, and a correction of both means",
    ),
    Deviation(
        "mean_squared",
        {"second": "of_mean"},
        "the second moment is the mean of the squared gradients, not of the squared first moment",
    ),
    Deviation("square_forgotten", {"second": "without_square"}, "the second moment is a mean of squares"),
    Deviation("adagrad_sum", {"second": "total", "second_correction": "none"}, "a sum of all squares is AdaGrad's"),
    Deviation("root_forgotten", {"has_root": False}, "the denominator: the second moment, or its square root?"),
    Deviation(
        "epsilon_in_root", {"epsilon": "inside"}, "where epsilon stands: is it added before the root, or after it?"
    ),
    Deviation(
        "epsilon_before_correction",
        {"epsilon": "in_root_uncorrected"},
        "epsilon is added to the root of the corrected second moment: what is corrected in your denominator, and when?",
    ),
    Deviation("epsilon_left_out", {"epsilon": "none"}, "a gradient of zero: by what is it divided?"),
    Deviation("step_starts_at_zero", {"clock": 0}, "the step count at the first step: 1 - beta**0 is zero"),
    Deviation("step_starts_at_two", {"clock": 2}, "the step count at the first step: how often is it raised?"),
    Deviation("sign_turned", {"rate": -1.0}, "the sign of the step: the loss falls against the gradient"),
)

DECAY = (
    Deviation(
        "decay_in_gradient",
        {"decay": "in_gradient"},
        "where the decay enters: added to the gradient it passes through both moments, and is no longer decoupled",
    ),
    Deviation("decay_left_out", {"decay": "none"}, "weight_decay: which line of yours reads it?"),
    Deviation(
        "decay_after_update",
        {"decay": "after"},
        "the order: the decay acts on the weight as it was before the update",
    ),
    Deviation(
        "decay_without_rate",
        {"decay": "without_rate"},
        "the size of the decay: a step takes away learning rate times weight_decay of the weight",
    ),
    Deviation("decay_halved", {"decay": "half"}, "the size of the decay: a factor of one half"),
    Deviation("decay_grows", {"decay": "grows"}, "the sign of the decay: are weights pulled to zero, or away from it?"),
    Deviation(
        "decay_squared", {"decay": "in_update"}, "the size of the decay: weight_decay enters it once, and not twice"
    ),
    Deviation("decay_without_gradient", {"missing": "decayed"}, "a tensor without gradient is skipped, its decay too"),
    Deviation("missing_gradient_zero", {"missing": "zero"}, "a tensor without gradient is skipped: nothing of it moves"),
    Deviation(
        "one_count_for_all",
        {"shared_clock": "steps"},
        "a tensor whose gradients begin later: whose steps does its bias correction count?",
    ),
    Deviation(
        "count_moved_by_each_tensor",
        {"shared_clock": "tensors"},
        "the step count: how often is it raised in one step, and whose is it?",
    ),
    Deviation("options_of_first_group", {"group": "first"}, "whose lr and weight_decay a tensor of another group has"),
    Deviation("options_of_last_group", {"group": "last"}, "which group is read, and when: the last one walked through?"),
    Deviation("decay_of_first_group", {"decay_group": "first"}, "weight_decay is an option of each group"),
    Deviation("decay_of_last_group", {"decay_group": "last"}, "weight_decay is an option of each group"),
    Deviation(
        "learning_rate_fixed", {"is_rate_fixed": True}, "the learning rate: a schedule changes it between two steps"
    ),
)


def recipes(deviations: Sequence[Deviation]) -> Iterator[tuple[Deviation, Recipe]]:
    """Yield each deviation with its recipe, then pairs of them under the name of the first."""
    for deviation in deviations:
        yield deviation, deviation.applied(RIGHT)
    for one, other in itertools.combinations(deviations, 2):
        if not set(one.changes) & set(other.changes):
            yield one, other.applied(one.applied(RIGHT))

"""Misconceptions about the step of Adam and AdamW, each as the decisions that it makes otherwise."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from grader.judging.lessons.adamw.recipes import RIGHT, Recipe


@dataclass(frozen=True)
class Deviation:
    """A misconception about the step.

    Attributes:
        code: Its stable name.
        changes: The decisions that it makes otherwise.
        look_at: What the learner is told to look at.
        is_paired: Whether it may explain a miss together with another one.
    """

    code: str
    changes: dict[str, object]
    look_at: str
    is_paired: bool = True

    def applied(self, recipe: Recipe) -> Recipe:
        """Return a recipe with these changes."""
        return replace(recipe, **self.changes)  # type: ignore[arg-type]


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
        {"keeps": "corrected"},
        "what the state keeps: the moments, or the corrected moments, which are corrected again at the next step",
    ),
    Deviation(
        "corrected_first_moment_kept",
        {"keeps": "corrected_first"},
        "the first moment in the state: it is corrected in place, and corrected again at the next step",
    ),
    Deviation(
        "corrected_second_moment_kept",
        {"keeps": "corrected_second"},
        "the second moment in the state: it is corrected in place, and corrected again at the next step",
    ),
    Deviation(
        "moments_not_kept",
        {"keeps": "none"},
        "the state: at each step both moments start from zero again. Which line stores the new ones, or resets them?",
        is_paired=False,
    ),
    Deviation(
        "state_made_anew",
        {"keeps": "none", "first_correction": "once", "second_correction": "once"},
        "when the state is made: at the first step only, here moments and count begin anew at every step",
        is_paired=False,
    ),
    Deviation(
        "root_kept",
        {"keeps": "rooted"},
        "the second moment in the state: sqrt_() writes the root into it, sqrt() returns a new tensor",
        is_paired=False,
    ),
    Deviation(
        "moments_updated_late",
        {"reads": "old"},
        "the order: both moments take the new gradient in before the weight moves",
        is_paired=False,
    ),
    Deviation(
        "product_for_power",
        {"first_correction": "product", "second_correction": "product"},
        "the share is 1 - beta**t: two stars are a power, one is a product",
        is_paired=False,
    ),
    Deviation(
        "multiplied_by_share",
        {"first_correction": "multiplied", "second_correction": "multiplied"},
        "a moment has seen a share of its weight: is it divided by that share, or multiplied?",
        is_paired=False,
    ),
    Deviation(
        "divided_by_power",
        {"first_correction": "power_alone", "second_correction": "power_alone"},
        "the share that a moment has seen after t steps: it grows to 1, and beta**t falls to 0",
        is_paired=False,
    ),
    Deviation(
        "root_corrected",
        {"second_correction": "after_root"},
        "the order: the second moment is corrected first, and its root is taken then",
        is_paired=False,
    ),
    Deviation("betas_swapped", {"betas": (1, 0)}, "which of the two betas belongs to which moment"),
    Deviation(
        "beta_on_the_new_number",
        {"first": "swapped", "second": "swapped"},
        "beta weighs the old mean, 1 - beta the new number: which of them does yours weigh?",
    ),
    Deviation(
        "beta_on_new_gradient",
        {"first": "swapped"},
        "the first moment: beta1 weighs the old mean, 1 - beta1 the new gradient",
    ),
    Deviation(
        "beta_on_new_square",
        {"second": "swapped"},
        "the second moment: beta2 weighs the old mean, 1 - beta2 the new square",
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
    Deviation(
        "moments_summed", {"first": "sum", "second": "sum"}, "means, not sums: a new number counts with 1 - beta"
    ),
    Deviation(
        "momentum_left_out",
        {"first": "none", "first_correction": "none"},
        "the first moment: RMSProp divides the gradient, Adam its mean",
    ),
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
    Deviation(
        "gradient_not_squared",
        {"second": "unsquared"},
        "the second moment is a mean of squares: a mean of gradients may be negative, and has no root then",
        is_paired=False,
    ),
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
    Deviation("step_counted_twice", {"stride": 2}, "the step count: by how much does it grow in one step?"),
    Deviation("gradient_clipped", {"clip": "value"}, "a clipping of the gradient that is not asked for"),
    Deviation("gradient_norm_clipped", {"clip": "norm"}, "a clipping of the gradient's norm that is not asked for"),
    Deviation("sgd_step", {"rule": "sgd"}, "plain SGD: which line uses the moments?"),
    Deviation("momentum_step", {"rule": "momentum", "first": "sum"}, "momentum: by what is a step of Adam divided?"),
    Deviation("mean_not_divided", {"rule": "momentum"}, "the first moment alone: by what is it divided?"),
    Deviation(
        "betas_not_read",
        {"fixed_betas": (0.9, 0.999)},
        "the betas: 0.9 and 0.999 are defaults, and other values may be handed over",
    ),
    Deviation("eps_not_read", {"fixed_eps": 1e-8}, "epsilon: 1e-8 is a default, and another value may be handed over"),
    Deviation(
        "rmsprop_of_the_lesson",
        {"first": "none", "first_correction": "none", "second_correction": "none", "fixed_betas": (0.0, 0.99)},
        "RMSProp with its own alpha: what does Adam add to it, and which betas does it take?",
    ),
    Deviation("sign_turned", {"rate": -1.0}, "the sign of the step: the loss falls against the gradient"),
)


def recipes(deviations: Sequence[Deviation]) -> Iterator[tuple[Deviation, Recipe]]:
    """Yield each deviation with its recipe, then pairs of them under the name of the first."""
    for deviation in deviations:
        yield deviation, deviation.applied(RIGHT)
    for one, other in itertools.combinations([deviation for deviation in deviations if deviation.is_paired], 2):
        if not set(one.changes) & set(other.changes):
            yield one, other.applied(one.applied(RIGHT))

"""Misconceptions about the step of Adam and AdamW, each as the decisions that it makes otherwise."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from grader.judges.adamw.recipes import RIGHT, Recipe


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
    Deviation(
        "missing_gradient_zero", {"missing": "zero"}, "a tensor without gradient is skipped: nothing of it moves"
    ),
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
    Deviation(
        "options_of_last_group", {"group": "last"}, "which group is read, and when: the last one walked through?"
    ),
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

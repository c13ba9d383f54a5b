"""Misconceptions about Adafactor's second moment, each as the decisions that it makes otherwise."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from grader.judging.lessons.adafactor.recipes import Recipe
from grader.judging.lessons.adafactor.second_moments import Estimate


@dataclass(frozen=True)
class Deviation:
    """A misconception.

    Attributes:
        code: Its stable name.
        look_at: What the learner is told to look at.
        of_estimate: The decisions that it makes otherwise in the second moment.
        of_step: The decisions that it makes otherwise in the step.
    """

    code: str
    look_at: str
    of_estimate: Mapping[str, Any] = field(default_factory=dict)
    of_step: Mapping[str, Any] = field(default_factory=dict)

    def estimate(self, start: Estimate) -> Estimate:
        """Return an estimate with these changes."""
        return replace(start, **self.of_estimate)

    def step(self, start: Recipe) -> Recipe:
        """Return a recipe with these changes."""
        return replace(start, estimate=self.estimate(start.estimate), **self.of_step)

    def meets(self, other: Deviation) -> bool:
        """Tell whether both change one decision."""
        return bool(set(self.of_estimate) & set(other.of_estimate) or set(self.of_step) & set(other.of_step))


def of_estimate(code: str, look_at: str, **changes: Any) -> Deviation:
    """Return a misconception about the second moment alone."""
    return Deviation(code, look_at, of_estimate=changes)


_DIVISION = "the division: what is the mean of all squares, and how often does it stand in row times column?"
_DECAY = "the running mean: the old one counts with beta = 1 - step**decay_rate, the new number with 1 - beta"
_UNDERFLOW = "gradients of zero: 1e-30 times 1e-30 is 0 in float32, so divide the rows before you multiply"

ESTIMATES = (
    of_estimate("not_divided", _DIVISION, division="nothing"),
    of_estimate("sums_not_divided", _DIVISION + " Yours are sums", row="sum", column="sum", division="nothing"),
    of_estimate(
        "divided_by_sum", "the division: means are divided by the mean of the rows, sums by the sum", division="sum"
    ),
    of_estimate(
        "column_sums",
        "column sums: divided by a mean of rows, they are too large by the number of rows",
        row="sum",
        column="sum",
    ),
    of_estimate(
        "divided_twice", "the division by the mean of the rows: once, for rows and columns together", division="squared"
    ),
    of_estimate("divided_by_root", "the division: the mean of the rows itself, not its root", division="root"),
    of_estimate(
        "divided_by_first_row",
        "the mean of the rows is a number for each matrix: which one do you take?",
        division="first",
    ),
    of_estimate("divided_by_largest_row", "the mean of the rows, not their largest", division="largest"),
    of_estimate(
        "one_mean_for_all_matrices",
        "a stack of matrices: each of them is divided by the mean of its own rows, so .mean() of all is too much",
        division="whole",
    ),
    of_estimate(
        "product_first_and_one_mean",
        "the two at once: divide the rows before you multiply, each matrix by the mean of its own rows",
        division="whole",
        underflows=True,
    ),
    of_estimate(
        "divided_across_the_stack",
        "the mean that divides: over the rows of each matrix (dim -1, or -2 of what has keepdim), not over dim 0",
        division="across",
    ),
    of_estimate(
        "rows_and_columns_swapped", "which of the two is the column of the product, [rows, 1]?", factored="twice"
    ),
    of_estimate(
        "means_lost",
        "where the means are kept: state comes back at the next step, as a checkpoint would bring it",
        memory="lost",
    ),
    of_estimate(
        "current_squares_only", "what the state is for: the means of earlier steps count too", memory="current"
    ),
    of_estimate("weights_swapped", _DECAY, memory="swapped"),
    of_estimate("squares_summed", _DECAY + ": yours adds the new number in full", memory="sum"),
    of_estimate("squares_added", _DECAY + ": yours adds all squares up", memory="added"),
    of_estimate("old_mean_not_decayed", _DECAY + ": yours keeps the old one in full", memory="undecayed"),
    of_estimate(
        "plain_mean", "the decay: 1 - 1/step weighs all steps alike, decay_rate is another power", memory="plain"
    ),
    of_estimate(
        "decay_constant", "the decay: it grows with the step, 1 - step**decay_rate, and is no 0.999", memory="constant"
    ),
    of_estimate("decay_of_adam", "the decay: beta = 1 - step**decay_rate needs no bias correction", memory="corrected"),
    of_estimate(
        "decay_constant",
        "the decay: it grows with the step, 1 - step**decay_rate, and is no 0.9",
        memory="constant",
        constant=0.9,
    ),
    of_estimate(
        "decay_constant",
        "the decay: it grows with the step, 1 - step**decay_rate, and is no 0.99",
        memory="constant",
        constant=0.99,
    ),
    of_estimate(
        "options_not_read",
        "-0.8 and 1e-30 are defaults: decay_rate and eps have to be handed on",
        fixed_power=-0.8,
        fixed_eps=1e-30,
    ),
    of_estimate(
        "decay_rate_not_read",
        "the decay: -0.8 is a default, and another decay_rate may be handed over",
        fixed_power=-0.8,
    ),
    of_estimate("gradient_not_squared", "what is averaged: squares, not the gradient itself", square="gradient"),
    of_estimate("mean_squared", "the order: square first, then take the mean", square="mean"),
    of_estimate("square_forgotten", "what is averaged: squares", square="size"),
    of_estimate(
        "epsilon_left_out", "eps: a gradient of zero is divided by the root of its second moment", epsilon="none"
    ),
    of_estimate(
        "epsilon_on_estimate", "where eps stands: it is added to each square, before the means", epsilon="estimate"
    ),
    of_estimate("eps_not_read", "eps: 1e-30 is a default, and another value may be handed over", fixed_eps=1e-30),
    of_estimate("epsilon_twice", "eps is added once, to each square", epsilon="both"),
    of_estimate("epsilon_added_again", "eps is in `squares` already: add it once", epsilon="twice"),
    of_estimate("epsilon_in_gradient", "eps is added to the square, not to the gradient before", epsilon="gradient"),
    of_estimate("rows_added_to_columns", "row share times column mean: both are multiplied", division="added"),
    of_estimate("geometric_mean", "the root of the product is another mean: divide instead", division="geometric"),
    of_estimate("rows_alone", "the column means: where do they enter the estimate?", division="rows"),
    of_estimate("columns_alone", "the row means: where do they enter the estimate?", division="columns"),
    of_estimate(
        "divided_by_current_mean", "the mean of the kept row means divides, not that of this step", division="current"
    ),
    of_estimate("norms_for_means", "rows and columns are means of the squares, not norms", row="norm", column="norm"),
    of_estimate(
        "largest_for_means", "rows and columns are means, not the largest numbers", row="largest", column="largest"
    ),
    of_estimate(
        "current_rows_only",
        "the row means: what of the earlier steps is kept, and is it written back into the state?",
        row_memory="current",
    ),
    of_estimate(
        "current_columns_only", "the column means: what of the earlier steps is kept?", column_memory="current"
    ),
    of_estimate("columns_not_kept", "the column means: are they written back into the state?", column_memory="lost"),
    of_estimate(
        "rows_kept_divided",
        "what the state keeps: the row means as they are; their division is for the estimate alone",
        is_row_normalised=True,
    ),
    of_estimate("row_weights_swapped", _DECAY + ": your rows", row_memory="swapped"),
    of_estimate("column_weights_swapped", _DECAY + ": your columns", column_memory="swapped"),
    of_estimate("power_positive", "the decay: decay_rate is negative already", memory="positive"),
    of_estimate("correction_on_top", "the first beta is 0, so there is no bias to correct", memory="running_corrected"),
    of_estimate("product_underflows", _UNDERFLOW, underflows=True),
    of_estimate(
        "not_factored", "what is kept of a matrix: row means and column means, not all numbers", factored="never"
    ),
)

RESULTS = (
    of_estimate("update_returned", "the estimate itself is asked for: the gradient is divided later", result="update"),
    of_estimate(
        "step_counted_twice", "the step count is raised already: by how much does it grow in one step?", stride=2
    ),
    of_estimate(
        "step_raised_again",
        "the step count: the given line raises it, and no line of yours",
        stride=2,
        offset=-1,
    ),
    of_estimate("root_returned", "the estimate itself is asked for: the root belongs to the update", result="root"),
    of_estimate(
        "reciprocal_root_returned", "the estimate itself is asked for, not one over its root", result="reciprocal"
    ),
)


def pairs(deviations: Sequence[Deviation]) -> Iterator[tuple[Deviation, Deviation]]:
    """Yield each two misconceptions that do not touch the same decision."""
    for one, other in itertools.combinations(deviations, 2):
        if not one.meets(other):
            yield one, other

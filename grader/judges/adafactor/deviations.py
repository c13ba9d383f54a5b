"""Misconceptions about Adafactor's second moment and step, each as the decisions that it makes otherwise."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from grader.judges.adafactor.second_moments import Estimate
from grader.judges.adafactor.steps import Recipe


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


def _second(code: str, look_at: str, **changes: Any) -> Deviation:
    return Deviation(code, look_at, of_estimate=changes)


def _step(code: str, look_at: str, **changes: Any) -> Deviation:
    return Deviation(code, look_at, of_step=changes)


_DIVISION = "the division: what is the mean of all squares, and how often does it stand in row times column?"
_DECAY = "the running mean: the old one counts with beta = 1 - step**decay_rate, the new number with 1 - beta"
_UNDERFLOW = "gradients of zero: 1e-30 times 1e-30 is 0 in float32, so divide the rows before you multiply"

ESTIMATES = (
    _second("not_divided", _DIVISION, division="nothing"),
    _second("sums_not_divided", _DIVISION + " Yours are sums", row="sum", column="sum", division="nothing"),
    _second(
        "divided_by_sum", "the division: means are divided by the mean of the rows, sums by the sum", division="sum"
    ),
    _second(
        "column_sums",
        "column sums: divided by a mean of rows, they are too large by the number of rows",
        row="sum",
        column="sum",
    ),
    _second(
        "divided_twice", "the division by the mean of the rows: once, for rows and columns together", division="squared"
    ),
    _second("divided_by_root", "the division: the mean of the rows itself, not its root", division="root"),
    _second(
        "divided_by_first_row",
        "the mean of the rows is a number for each matrix: which one do you take?",
        division="first",
    ),
    _second("divided_by_largest_row", "the mean of the rows, not their largest", division="largest"),
    _second(
        "one_mean_for_all_matrices",
        "a stack of matrices: each of them is divided by the mean of its own rows, so .mean() of all is too much",
        division="whole",
    ),
    _second("rows_and_columns_swapped", "which of the two is the column of the product, [rows, 1]?", factored="twice"),
    _second(
        "means_lost",
        "where the means are kept: state comes back at the next step, as a checkpoint would bring it",
        memory="lost",
    ),
    _second("current_squares_only", "what the state is for: the means of earlier steps count too", memory="current"),
    _second("weights_swapped", _DECAY, memory="swapped"),
    _second("squares_summed", _DECAY + ": yours adds the new number in full", memory="sum"),
    _second("plain_mean", "the decay: 1 - 1/step weighs all steps alike, decay_rate is another power", memory="plain"),
    _second(
        "decay_constant", "the decay: it grows with the step, 1 - step**decay_rate, and is no 0.999", memory="constant"
    ),
    _second("decay_of_adam", "the decay: beta = 1 - step**decay_rate needs no bias correction", memory="corrected"),
    _second(
        "decay_rate_not_read",
        "the decay: -0.8 is a default, and another decay_rate may be handed over",
        fixed_power=-0.8,
    ),
    _second("square_forgotten", "what is averaged: squares", square="size"),
    _second("epsilon_left_out", "eps: a gradient of zero is divided by the root of its second moment", epsilon="none"),
    _second(
        "epsilon_on_estimate", "where eps stands: it is added to each square, before the means", epsilon="estimate"
    ),
    _second("eps_not_read", "eps: 1e-30 is a default, and another value may be handed over", fixed_eps=1e-30),
    _second("epsilon_twice", "eps is added once, to each square", epsilon="both"),
    _second("rows_added_to_columns", "row share times column mean: both are multiplied", division="added"),
    _second("geometric_mean", "the root of the product is another mean: divide instead", division="geometric"),
    _second("rows_alone", "the column means: where do they enter the estimate?", division="rows"),
    _second("columns_alone", "the row means: where do they enter the estimate?", division="columns"),
    _second(
        "divided_by_current_mean", "the mean of the kept row means divides, not that of this step", division="current"
    ),
    _second("norms_for_means", "rows and columns are means of the squares, not norms", row="norm", column="norm"),
    _second(
        "largest_for_means", "rows and columns are means, not the largest numbers", row="largest", column="largest"
    ),
    _second("current_rows_only", "the row means: what of the earlier steps is kept of them?", row_memory="current"),
    _second("current_columns_only", "the column means: what of the earlier steps is kept?", column_memory="current"),
    _second("row_weights_swapped", _DECAY + ": your rows", row_memory="swapped"),
    _second("column_weights_swapped", _DECAY + ": your columns", column_memory="swapped"),
    _second("power_positive", "the decay: decay_rate is negative already", memory="positive"),
    _second("correction_on_top", "the first beta is 0, so there is no bias to correct", memory="running_corrected"),
    _second("product_underflows", _UNDERFLOW, underflows=True),
    _second("not_factored", "what is kept of a matrix: row means and column means, not all numbers", factored="never"),
)

RESULTS = (
    _second("step_counted_twice", "the step count is raised already: by how much does it grow in one step?", stride=2),
    _second("root_returned", "the estimate itself is asked for: the root belongs to the update", result="root"),
    _second("reciprocal_root_returned", "the estimate itself is asked for, not one over its root", result="reciprocal"),
)

STEP = (
    _step("root_forgotten", "the update: the gradient over the root of the second moment", direction="estimate"),
    _step("sgd_step", "the update: by what is the gradient divided?", direction="sgd", clip="none"),
    Deviation(
        "step_of_the_lesson",
        "the lesson's cell keeps the whole second moment, and has neither scale nor decay: the contract asks for all",
        {"factored": "never"},
        {"scale": "never", "decay": "none"},
    ),
    _step(
        "adam_step",
        "two moments and betas are Adam's: here one second moment is factored",
        direction="adam",
        clip="none",
    ),
    _second("vectors_factored", "a tensor of one dimension: its second moment is kept whole", factored="vectors"),
    _second(
        "stack_flattened",
        "more than two dimensions: rows and columns are the last two, for each index before them",
        factored="flat",
    ),
    _step(
        "update_not_clipped", "the clipping: is the update divided where its RMS is above the threshold?", clip="none"
    ),
    _second("only_two_dimensions", "a stack of matrices is factored too: .dim() > 1", factored="two"),
    _step("clip_lengthens", "the clipping: at least 1 divides, so a short update stays as it is", clip="lower"),
    _step("mean_square_for_rms", "the clipping: the root of the mean square", clip="mean_square"),
    _step("mean_size_for_rms", "the clipping: the root of the mean square, not the mean size", clip="mean_size"),
    _step("scale_of_update", "the scale: the RMS of the weight, not of the update", scale="of_update"),
    _step("scale_of_gradient", "the scale: the RMS of the weight, not of the gradient", scale="of_gradient"),
    _step("mean_size_for_scale", "the scale: the root of the mean square, not the mean size", scale="mean_size"),
    _step("mean_square_for_scale", "the scale: the root of the mean square", scale="mean_square"),
    _step("smaller_for_larger", "the scale: the larger of 1e-3 and the RMS", scale="smaller"),
    _step("smallest_scale_too_small", "the smallest scale is 1e-3", scale="tiny"),
    _step("smallest_scale_too_large", "the smallest scale is 1e-3", scale="large"),
    _step("rate_of_first_group", "lr is an option of each group", rate_group="first"),
    _step("scale_of_first_group", "scale_parameter is an option of each group", scale_group="first"),
    _step("scale_of_last_group", "scale_parameter is an option of each group", scale_group="last"),
    _step("decay_with_squared_rate", "the size of the decay: the rate enters it once", decay="squared_rate"),
    _step("decay_in_update", "the decay: it shrinks the weight, and is not clipped with the update", decay="in_update"),
    _step("rate_falls", "the learning rate: it does not fall with the step by itself", rate_falls=True),
    _step("velocity_kept", "a running sum of updates is momentum: it is not asked for", direction="velocity"),
    _step("always_normalised", "the clipping: max(1, ...) leaves an update alone that is short enough", clip="always"),
    _step("norm_for_rms", "the clipping: the root of the mean square, not the norm, which is longer", clip="norm"),
    _step(
        "each_number_clipped", "the clipping: one factor for the whole update, its numbers are not cut", clip="value"
    ),
    _step("clipped_by_largest", "the clipping: the RMS of the update, not its largest number", clip="largest"),
    _step("threshold_multiplied", "the clipping: RMS over threshold, not RMS times threshold", clip="multiplied"),
    _step("gradient_clipped", "what is clipped: the update, after the division by the root", clip="gradient"),
    _step("threshold_not_read", "clip_threshold: 1.0 is a default, and a group may have another", fixed_threshold=1.0),
    _step("threshold_of_first_group", "clip_threshold is an option of each group", clip_group="first"),
    _step(
        "epsilon_added_to_root", "where eps stands: in the squares alone, and no second time", direction="root_and_eps"
    ),
    _step("momentum_kept", "a mean of updates costs a number for each number: it is not asked for", direction="mean"),
    _step("scale_left_out", "scale_parameter: a group with True scales its learning rate by the weight", scale="never"),
    _step("always_scaled", "scale_parameter: a group with False takes its learning rate as it is", scale="always"),
    _step("scale_turned", "scale_parameter: True and False are exchanged", scale="inverse"),
    _step("norm_for_scale", "the scale: the root of the mean square of the weight, not its norm", scale="norm"),
    _step("no_smallest_scale", "weights of zero: the scale is at least 1e-3, or they never move", scale="no_floor"),
    _step("smallest_scale_added", "the scale: the larger of 1e-3 and the RMS, not their sum", scale="added"),
    _step("eps_for_smallest_scale", "the smallest scale is 1e-3, and eps is another number", scale="eps"),
    _step("scale_after_decay", "the order: the scale is that of the weight before its decay", scale="after"),
    _step("decay_left_out", "weight_decay: which line of yours reads it?", decay="none"),
    _step(
        "decay_in_gradient", "where the decay enters: it shrinks the weight, and no mean sees it", decay="in_gradient"
    ),
    _step("decay_after_update", "the order: the decay acts on the weight before the update", decay="after"),
    _step("decay_without_rate", "the size of the decay: learning rate times weight_decay", decay="without_rate"),
    _step("decay_with_unscaled_rate", "the decay takes the learning rate as it is scaled", decay="unscaled"),
    _step("decay_halved", "the size of the decay: a factor of one half", decay="half"),
    _step("decay_grows", "the sign of the decay: are weights pulled to zero, or away from it?", decay="grows"),
    _step("decay_of_first_group", "weight_decay is an option of each group", decay_group="first"),
    _step("decay_without_gradient", "a tensor without gradient is skipped, its decay too", missing="decayed"),
    _step("missing_gradient_zero", "a tensor whose .grad is None is skipped: nothing of it moves", missing="zero"),
    _step(
        "zero_gradient_skipped",
        "a gradient of zeros is a gradient: its step counts and its weight decays",
        silent="skipped",
    ),
    _step(
        "one_count_for_all",
        "a tensor whose gradients begin later: whose steps does its decay count?",
        shared_clock="steps",
    ),
    _step("count_moved_by_each_tensor", "the step count: how often is it raised in one step?", shared_clock="tensors"),
    _step("step_starts_at_two", "the step count: the first step is step 1", clock=2),
    _step("step_counted_twice", "the step count: by how much does it grow in one step?", stride=2),
    _step("options_of_first_group", "whose lr and thresholds a tensor of another group has", group="first"),
    _step("options_of_last_group", "which group is read, and when: the last one walked through?", group="last"),
    _step("learning_rate_fixed", "the learning rate: a schedule changes it between two steps", is_rate_fixed=True),
    _step("step_relative", "the learning rate: one over the root of the step is not asked for", is_relative=True),
    _step("sign_turned", "the sign of the step: the loss falls against the gradient", sign=-1.0),
)


def pairs(deviations: Sequence[Deviation]) -> Iterator[tuple[Deviation, Deviation]]:
    """Yield each two misconceptions that do not touch the same decision."""
    for one, other in itertools.combinations(deviations, 2):
        if not one.meets(other):
            yield one, other

"""Adafactor's second moment, and what students get wrong about it by itself or within a step."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from grader.judging.misconceptions import Misconception
from grader.judging.references import Answer


def factored_second_moment(gradient: Tensor, state: dict[str, Any], decay_rate: float, eps: float) -> Tensor:
    """Take in a gradient and return the estimate; a gradient of fewer than two dimensions is kept whole.

    Args:
        gradient: [..., rows, columns], [numbers] or a single number.
        state: Empty at the first step.
        decay_rate: Negative: the weight of a new mean is the step to this power.
        eps: Added to each square.
    """
    state["step"] = step = state.get("step", 0) + 1
    beta = 1 - step**decay_rate
    squares = gradient.square() + eps
    means = [squares]
    if squares.dim() > 1:
        means = [squares.mean(-1, keepdim=True), squares.mean(-2, keepdim=True)]
    olds = state.get("means", [torch.zeros_like(mean) for mean in means])
    state["means"] = [beta * old + (1 - beta) * new for old, new in zip(olds, means, strict=True)]
    if len(means) == 1:
        whole: Tensor = state["means"][0]
        return whole
    row, column = state["means"]  # [..., rows, 1] and [..., 1, columns]
    estimate: Tensor = row / row.mean(-2, keepdim=True) * column
    return estimate


# The parts of the reference that misconceptions edit.
STEP = 'state.get("step", 0) + 1'
BETA = "1 - step**decay_rate"
SQUARES = "gradient.square() + eps"
IS_MATRIX = "squares.dim() > 1"
ROW = "squares.mean(-1, keepdim=True)"
COLUMN = "squares.mean(-2, keepdim=True)"
OLDS = 'state.get("means", [torch.zeros_like(mean) for mean in means])'
MEAN = "beta * old + (1 - beta) * new"
WHOLE = 'state["means"][0]\n'
UNPACK = 'row, column = state["means"]'
ESTIMATE = "row / row.mean(-2, keepdim=True) * column"
UNDERFLOWING = "(row.float() * column.float()).double()"  # as in float32, where 1e-30 times 1e-30 is 0

OF_DECAY = "beta is 1 - step**decay_rate: it starts at 0 and grows from step to step."
OF_MEANS = "The old mean counts with beta, the new one with 1 - beta."

SECOND_MOMENT: tuple[Misconception[Answer], ...] = (
    Misconception(
        "not_divided",
        "You multiply row means and column means without a division, so the mean of all squares enters twice. "
        "Divide by the mean of the row means.",
        {ESTIMATE: UNDERFLOWING},
    ),
    Misconception(
        "sums_not_divided",
        "You multiply sums of rows and columns without a division. Divide the product by the sum of all squares.",
        {
            ROW: "squares.sum(-1, keepdim=True)",
            COLUMN: "squares.sum(-2, keepdim=True)",
            ESTIMATE: UNDERFLOWING,
        },
    ),
    Misconception(
        "divided_by_sum",
        "You divide means by the sum of the row means. Means are divided by the mean of the row means.",
        {ESTIMATE: "row / row.sum(-2, keepdim=True) * column"},
    ),
    Misconception(
        "column_sums",
        "You keep sums but divide by a mean, so the estimate is too large by the number of rows. "
        "Take means of rows and columns.",
        {ROW: "squares.sum(-1, keepdim=True)", COLUMN: "squares.sum(-2, keepdim=True)"},
        variants=[{COLUMN: "squares.sum(-2, keepdim=True)"}],
    ),
    Misconception(
        "one_mean_for_all_matrices",
        "You divide all matrices of a stack by one mean. Divide each matrix by the mean of its own rows: "
        ".mean() without a dimension takes all of them.",
        {ESTIMATE: "row / row.mean() * column"},
        variants=[{ESTIMATE: f"{UNDERFLOWING} / row.mean()"}],
    ),
    Misconception(
        "divided_across_the_stack",
        "You take the mean that divides over dimension 0, which runs across the matrices of a stack. "
        "Take it over the rows of each matrix.",
        {ESTIMATE: "row / row.mean(0, keepdim=True) * column"},
    ),
    Misconception(
        "product_underflows",
        "You multiply rows and columns before you divide. For gradients of zero, 1e-30 times 1e-30 is 0 in float32, "
        "so divide the rows first.",
        {ESTIMATE: f"{UNDERFLOWING} / row.mean(-2, keepdim=True)"},
    ),
    Misconception(
        "not_factored",
        "You keep the second moment of every number. Keep row means and column means of a matrix only.",
        {IS_MATRIX: "False"},
    ),
    Misconception(
        "stack_not_factored",
        "You keep the second moment of a stack of matrices whole. Its last two dimensions are rows and columns.",
        {IS_MATRIX: "squares.dim() == 2"},
    ),
    Misconception(
        "divided_by_current_mean",
        "You divide by the mean of this step's squares. Divide by the mean of the row means that you keep.",
        {ESTIMATE: "row / squares.mean((-2, -1), keepdim=True) * column"},
    ),
    Misconception(
        "divided_rows_kept",
        "You write the divided row means into the state, where the next step takes them for means. "
        "Divide into a new name, with / and not with /= or div_().",
        {UNPACK: f'{UNPACK}; state["means"][0] = row / row.mean(-2, keepdim=True)'},
    ),
    Misconception(
        "current_squares_only",
        "You use the squares of this step alone. The means of earlier steps count with beta.",
        {MEAN: "new"},
    ),
    Misconception(
        "means_lost",
        "You begin with means of zeros in every step, so those of earlier steps are lost. "
        "Look at what `state` holds when the next step begins.",
        {OLDS: "[torch.zeros_like(mean) for mean in means]"},
    ),
    Misconception(
        "weights_swapped",
        f"You exchange the weights of the old and the new mean. {OF_MEANS}",
        {MEAN: "(1 - beta) * old + beta * new"},
    ),
    Misconception("squares_summed", f"You add the new mean in full. {OF_MEANS}", {MEAN: "beta * old + new"}),
    Misconception("squares_added", f"You add up the squares of all steps. {OF_MEANS}", {MEAN: "old + new"}),
    Misconception(
        "columns_not_kept",
        "You do not write the column means back into the state, so they forget the earlier steps. "
        "Look at what `state` holds after a step.",
        {UNPACK: f'{UNPACK}; state["means"][1] = torch.zeros_like(column)'},
    ),
    Misconception(
        "plain_mean",
        f"You weigh all steps alike. {OF_DECAY}",
        {BETA: "1 - 1 / step"},
    ),
    Misconception(
        "decay_constant",
        f"You use a constant decay. {OF_DECAY}",
        {BETA: "0.999"},
        variants=[{BETA: "0.99"}, {BETA: "0.9"}],
    ),
    Misconception(
        "decay_of_adam",
        f"You use Adam's constant decay with its bias correction. {OF_DECAY} So there is no bias to correct.",
        {
            BETA: "0.999",
            ESTIMATE: f"{ESTIMATE} / (1 - beta**step)",
            WHOLE: 'state["means"][0] / (1 - beta**step)\n',
        },
    ),
    Misconception(
        "bias_corrected",
        "You divide by 1 - beta**step, as Adam does. beta is 0 at step 1, so there is no bias to correct.",
        {ESTIMATE: f"{ESTIMATE} / (1 - beta**step)", WHOLE: 'state["means"][0] / (1 - beta**step)\n'},
    ),
    Misconception(
        "decay_rate_not_read",
        "You use -0.8 whatever the decay_rate is. Read the decay_rate that your function receives.",
        {BETA: "1 - step**-0.8"},
    ),
    Misconception(
        "eps_not_read",
        "You use 1e-30 whatever eps is. Read the eps that your function receives.",
        {SQUARES: "gradient.square() + 1e-30"},
    ),
    Misconception(
        "gradient_not_squared",
        "You average the gradient itself, or its size. The second moment is the mean of its squares.",
        {SQUARES: "gradient + eps"},
        variants=[{SQUARES: "gradient"}, {SQUARES: "gradient.abs() + eps"}],
    ),
    Misconception(
        "epsilon_left_out",
        "You leave out eps, so a gradient of zero is divided by zero. Add eps to each square.",
        {SQUARES: "gradient.square()"},
    ),
    Misconception(
        "epsilon_on_estimate",
        "You add eps to the estimate. Add it to each square, before the means.",
        {SQUARES: "gradient.square()", ESTIMATE: f"{ESTIMATE} + eps", WHOLE: 'state["means"][0] + eps\n'},
    ),
    Misconception(
        "epsilon_twice",
        "You add eps a second time, to the means or to the estimate. Add it once, to each square.",
        {SQUARES: "gradient.square() + 2 * eps"},
        variants=[{ESTIMATE: f"{ESTIMATE} + eps", WHOLE: 'state["means"][0] + eps\n'}],
    ),
)

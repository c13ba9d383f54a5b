"""Misconceptions about the step of 8-bit Adam, each as the decisions that it makes otherwise."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from grader.judging.lessons.adam_8bit.step_recipes import RIGHT, StepRecipe


@dataclass(frozen=True)
class StepMistake:
    """A misconception about the step.

    Attributes:
        code: Its stable name.
        changes: The decisions that it makes otherwise.
        look_at: What the learner is told to look at.
    """

    code: str
    changes: dict[str, Any]
    look_at: str


MISTAKES = (
    StepMistake(
        "nothing_quantized", {"quantized": "none"}, "what a large tensor keeps between two steps: codes, not numbers"
    ),
    StepMistake(
        "only_mean_quantized", {"quantized": "mean"}, "the second moment of a large tensor: it is kept as codes too"
    ),
    StepMistake(
        "only_square_quantized", {"quantized": "square"}, "the first moment of a large tensor: it is kept as codes too"
    ),
    StepMistake(
        "signed_book_for_both", {"books": "signed"}, "the code book of the second moment: it is never below zero"
    ),
    StepMistake(
        "unsigned_book_for_both",
        {"books": "unsigned"},
        "the code book of the first moment: what becomes of its negative numbers?",
    ),
    StepMistake(
        "books_swapped",
        {"books": "swapped"},
        "which code book belongs to which moment, and the order of what adamw_update is handed",
    ),
    StepMistake(
        "second_moment_zero",
        {"may_be_zero": True},
        "the second moment: with code 0 it is 0, and epsilon alone divides; encode_blocks gives code 1",
    ),
    StepMistake(
        "linear_codes", {"books": "linear"}, "the code book: SIGNED and UNSIGNED, not numbers at equal distances"
    ),
    StepMistake(
        "small_tensors_quantized", {"limit": 0}, "tensors of fewer than 4,096 numbers: their moments stay float32"
    ),
    StepMistake("limit_included", {"limit": 4097}, "the limit: a tensor of exactly 4,096 numbers is quantized"),
    StepMistake("limit_too_low", {"limit": 4095}, "the limit: a tensor of 4,095 numbers stays in float32"),
    StepMistake("limit_by_dimension", {"limit": -1}, "the limit: it counts numbers, not dimensions"),
    StepMistake(
        "gradient_quantized", {"has_gradient_codes": True}, "what is encoded: both moments, and not the gradient"
    ),
    StepMistake("one_scale_for_the_tensor", {"block": 0}, "the scales: one for each block of 256 numbers"),
    StepMistake("block_of_2048", {"block": 2048}, "the size of a block: 256 numbers"),
    StepMistake("block_of_64", {"block": 64}, "the size of a block: 256 numbers"),
    StepMistake(
        "started_at_code_zero",
        {"start": "code_zero"},
        "the first moments: code 0 stands for the smallest number of the book",
    ),
    StepMistake("state_never_written", {"kept": "old"}, "the end of the step: what comes back at the next one?"),
    StepMistake(
        "square_never_written", {"kept": "mean"}, "the second moment at the end of the step: is it encoded again?"
    ),
    StepMistake(
        "mean_never_written", {"kept": "square"}, "the first moment at the end of the step: is it encoded again?"
    ),
    StepMistake(
        "weight_from_codes",
        {"weight_from": "encoded"},
        "the order: the weight moves by the exact moments, then they are encoded",
    ),
    StepMistake(
        "one_count_for_all", {"clock": "shared"}, "a tensor whose gradients begin later: whose steps are counted?"
    ),
    StepMistake("step_not_counted", {"clock": "one"}, "the step count: does it grow?"),
    StepMistake("step_starts_at_zero", {"clock": "late"}, "the step count at the first step: 1 - beta**0 is zero"),
    StepMistake("step_counted_twice_at_first", {"clock": "early"}, "the step count at the first step: it is 1"),
    StepMistake(
        "zero_gradient_not_counted",
        {"clock": "nonzero"},
        "a gradient of zeros is a gradient: its step is counted, only one that is None is not",
    ),
    StepMistake("count_moved_by_each_tensor", {"clock": "tensors"}, "the step count: each tensor has its own"),
    StepMistake("bias_not_corrected", {"clock": "none"}, "both moments start at zero: what are they divided by?"),
    StepMistake(
        "missing_gradient_zero", {"missing": "zero"}, "a tensor without gradient is skipped: nothing of it moves"
    ),
    StepMistake(
        "decay_without_gradient", {"missing": "decayed"}, "a tensor without gradient is skipped, its decay too"
    ),
    StepMistake("options_of_first_group", {"group": "first"}, "whose options a tensor of another group has"),
    StepMistake("options_of_last_group", {"group": "last"}, "which group is handed on: the one that the tensor is in"),
    StepMistake("decay_left_out", {"decay": "none"}, "weight_decay: which line of yours reads it?"),
    StepMistake(
        "learning_rate_fixed", {"is_rate_fixed": True}, "the learning rate: a schedule changes it between two steps"
    ),
    StepMistake("weight_moved_twice", {"moves": 2}, "how often one step updates the weight"),
    StepMistake("decay_not_read", {"fixed_decay": 0.01}, "weight_decay: it is an option of the group, here not 0.01"),
    StepMistake("betas_swapped", {"betas": (1, 0)}, "which of the two betas belongs to which moment"),
    StepMistake("betas_not_read", {"fixed_betas": (0.9, 0.999)}, "the betas: they are options of the group"),
    StepMistake("eps_not_read", {"fixed_eps": 1e-8}, "epsilon: it is an option of the group"),
)


def recipes() -> Iterator[tuple[StepMistake, StepRecipe]]:
    """Yield each mistake with its recipe, then pairs of one about codes with one about steps."""
    for mistake in MISTAKES:
        yield mistake, replace(RIGHT, **mistake.changes)
    about_codes, about_steps = (
        {"books", "quantized", "limit", "block", "start", "may_be_zero"},
        {"clock", "missing", "group", "decay"},
    )
    for one, other in itertools.product(MISTAKES, MISTAKES):
        if set(one.changes) <= about_codes and set(other.changes) <= about_steps:
            yield other, replace(RIGHT, **one.changes, **other.changes)

"""Misconceptions about the elements of Adafactor's state, each as what it counts otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Miscount:
    """A misconception about the state, as what it counts otherwise."""

    code: str
    look_at: str
    changes: Mapping[str, Any]


def _miscount(code: str, look_at: str, **changes: Any) -> Miscount:
    return Miscount(code, look_at, changes)


_STACKS = "more than two dimensions: the last two are a matrix, and there is one for each index before them"
MISCOUNTS = (
    _miscount("not_factored", "a matrix: which means stand for its second moment?", factors="whole"),
    _miscount("rows_only", "a matrix has row means and column means", factors="rows"),
    _miscount("columns_only", "a matrix has row means and column means", factors="columns"),
    _miscount(
        "product_kept", "row times column is computed anew at each step, and not kept", factors="rows_plus_product"
    ),
    _miscount("stack_flattened", _STACKS, stacks="flat"),
    _miscount("first_two_dimensions", _STACKS, stacks="first"),
    _miscount("one_matrix_of_the_stack", _STACKS, stacks="one"),
    _miscount("last_against_the_rest", _STACKS + ": the sides before the last are not one side", stacks="last"),
    _miscount("first_two_as_matrix", _STACKS + ": yours takes the first two", stacks="first_for_each"),
    _miscount("rows_of_one", _STACKS + ", with row means of its own", stacks="rows_of_one"),
    _miscount(
        "single_row_not_factored",
        "a matrix of one row or one column is factored too: see nn.Linear(1, 768) below",
        factors="single_row",
    ),
    _miscount("mean_of_rows_kept", "the mean of the row means is computed anew at each step", factors="one_more"),
    _miscount("vector_left_out", "a tensor of one dimension, or of none, is kept whole", vectors="nothing"),
    _miscount("vector_as_row", "a tensor of one dimension has no row mean beside: it is kept whole", vectors="row"),
    _miscount("first_two_sides", _STACKS + ": shape[0] and shape[1] are not the last two", stacks="two"),
    _miscount("sides_added", _STACKS, stacks="sides"),
    _miscount("stack_not_factored", _STACKS, stacks="whole"),
    _miscount("vector_as_one_number", "a tensor of one dimension is kept whole", vectors="number"),
    _miscount(
        "vector_as_matrix", "a tensor of one dimension has no rows and columns: it is kept whole", vectors="matrix"
    ),
    _miscount(
        "one_number_of_transformers",
        "transformers keeps two numbers beside the means: the RMS, and a step count, one element also as a Python int",
        sizes="none",
    ),
    _miscount("rms_in_torch", "the RMS of the weight is kept by transformers, and not by torch", sizes="both"),
    _miscount(
        "no_single_numbers", "the single numbers of a tensor: which does the text name?", step_of="none", sizes="none"
    ),
    _miscount(
        "rms_without_momentum_only", "transformers keeps the RMS with and without momentum", sizes="without_momentum"
    ),
    _miscount("rms_of_matrices", "transformers keeps the RMS of every tensor", sizes="matrices"),
    _miscount("steps_once", "the step count: one for the model, or for each tensor?", is_step_once=True),
    _miscount("single_number_skipped", "a tensor without dimensions is one number with its state", has_single=False),
    _miscount("rms_with_momentum_only", "transformers keeps the RMS with and without momentum", sizes="momentum"),
    _miscount("shortest_side", "a matrix has row means and column means", factors="shortest", stacks="shortest"),
    _miscount("longest_side", "a matrix has row means and column means", factors="longest", stacks="longest"),
    _miscount("rows_twice", "a matrix has as many column means as columns", factors="rows_twice"),
    _miscount("one_less", "rows plus columns: none of the means is left out", factors="one_less"),
    _miscount(
        "single_number_left_out", "a tensor without dimensions is one number, and kept whole", vectors="no_single"
    ),
    _miscount("momentum_of_matrices", "momentum is kept of tensors of one dimension too", momentum_of="matrices"),
    _miscount("momentum_of_transformers", "momentum is kept only where the name says so", momentum_of="transformers"),
    _miscount("frozen_steps", "a frozen tensor is never updated: it has no step count", has_frozen_scalars=True),
    _miscount("first_tensor_only", "where `return` stands: inside the loop?", is_first_only=True),
    _miscount("mebibytes_for_elements", "the unit: elements are asked for, not MiB", bytes_of=4 / 2**20),
    _miscount("steps_left_out", "the step counts: one number for each tensor", step_of="none"),
    _miscount("steps_of_torch_left_out", "torch counts steps too", step_of="transformers"),
    _miscount("scalars_once", "the step count and the RMS: one for the model, or for each tensor?", is_once=True),
    _miscount(
        "momentum_in_torch",
        "momentum: the name of the library says it, and torch has none",
        momentum_of="not_transformers",
    ),
    _miscount(
        "momentum_for_second_moment",
        "momentum stands beside the second moment, not in its place",
        is_second_replaced=True,
    ),
    _miscount("momentum_left_out", "beta1: a mean of updates has the shape of its parameter", momentum=0),
    _miscount("momentum_twice", "beta1 adds one mean of updates, and no second one", momentum=2),
    _miscount("momentum_for_all", "momentum is kept where beta1 is set, and nowhere else", momentum_of="all"),
    _miscount(
        "momentum_for_factors",
        "with momentum, the second moment is still kept in rows and columns",
        is_factored_with_momentum=False,
    ),
    _miscount("frozen_counted", "tensors without a gradient: requires_grad tells them", has_frozen=True),
    _miscount("parameters_added", "the parameters themselves are no state", extra=1),
    _miscount(
        "one_number_too_many", "the single numbers of a tensor: which of them does the text name?", extra_scalars=1
    ),
    _miscount("bytes_for_elements", "the unit: elements are asked for, not bytes", bytes_of=4),
)
FURTHER: tuple[tuple[str, str, dict[str, Any]], ...] = (
    (
        "adamw_for_all",
        "AdamW keeps two numbers for each number: what does Adafactor keep?",
        {"factors": "whole", "stacks": "whole", "extra": 1, "sizes": "none", "momentum": 0},
    ),
)

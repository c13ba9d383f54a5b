"""Turns errors of autograd into codes and diagnoses."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from grader.observing.contract import fail

# Texts of torch's errors that have one cause here: code and diagnosis.
AUTOGRAD_ERRORS = (
    (
        "modified by an inplace operation",
        "input_changed_in_place",
        "You change in place what a checkpoint has saved. Backward needs it again: look for an operation in place.",
    ),
    (
        "of floating point",
        "integer_input_differentiated",
        "You ask for a gradient of tokens, which are integers. Look at which inputs need one.",
    ),
    (
        "One of the differentiated Tensors does not require grad",
        "gradient_of_fixed_tensor",
        "You ask torch.autograd.grad for a tensor that needs no gradient: a frozen parameter, or an input.",
    ),
    (
        "does not require grad and does not have a grad_fn",
        "recomputed_without_graph",
        "You run backward on an output without a graph. Look for torch.enable_grad() around the second run.",
    ),
    (
        "incorrect number of gradients",
        "gradients_miscounted",
        "You return another number of gradients than apply has arguments. A list counts as one argument.",
    ),
    (
        "returned an invalid gradient at index",
        "gradients_in_another_order",
        "You return the gradients in another order than the arguments of apply: block, input, parameters.",
    ),
    (
        "through the graph a second time",
        "graph_used_twice",
        "You use one graph for two backward passes. Look at whether the block runs again, and from a detached input.",
    ),
    (
        "have been used in the graph",
        "recomputed_from_another_tensor",
        "You ask for the gradient of a tensor that the second run did not use. Look for a copy of its input or block.",
    ),
    (
        "positional arguments but",
        "block_given_too_much",
        "You call the block with too many arguments in backward. The gradient of the output is none of its inputs.",
    ),
)


@contextlib.contextmanager
def named_autograd_errors() -> Iterator[None]:
    """Fail with a code of its own where autograd raises an error that has one cause."""
    try:
        yield
    except (RuntimeError, TypeError) as error:
        text = str(error)
        for part, code, look_at in AUTOGRAD_ERRORS:
            if part in text:
                measured = f"{type(error).__name__}: {text.splitlines()[0][:160]}"
                fail(code, "forward and backward through the checkpoint", measured, look_at)
        raise

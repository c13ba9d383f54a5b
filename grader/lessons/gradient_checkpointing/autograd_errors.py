"""What autograd says of a run that fails, turned into a code and a place to look."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from grader.observing.contract import fail

# Texts of torch's errors that have one cause here: code, and where to look.
AUTOGRAD_ERRORS = (
    (
        "modified by an inplace operation",
        "input_changed_in_place",
        "an operation in place on what a checkpoint has saved: it is needed again in backward",
    ),
    (
        "of floating point",
        "integer_input_differentiated",
        "tokens are integers and cannot have a gradient: which inputs need one?",
    ),
    (
        "One of the differentiated Tensors does not require grad",
        "gradient_of_fixed_tensor",
        "the tensors that torch.autograd.grad is asked for: frozen parameters and some inputs need no gradient",
    ),
    (
        "does not require grad and does not have a grad_fn",
        "recomputed_without_graph",
        "backward runs without a graph: torch.enable_grad() around the second run, and around a sum of its output",
    ),
    (
        "incorrect number of gradients",
        "gradients_miscounted",
        "backward returns one value for each argument of apply; parameters are handed over one by one, a list is one",
    ),
    (
        "returned an invalid gradient at index",
        "gradients_in_another_order",
        "the order of what backward returns: that of the arguments of apply, so block, input, parameters",
    ),
    (
        "through the graph a second time",
        "graph_used_twice",
        "a graph that is used for two backward passes: is the block really run again?",
    ),
    (
        "have been used in the graph",
        "recomputed_from_another_tensor",
        "the second run: does it start from the very tensor that the gradient is asked for?",
    ),
    (
        "positional arguments but",
        "block_given_too_much",
        "what the block is called with in backward: the gradient of the output is none of its inputs",
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

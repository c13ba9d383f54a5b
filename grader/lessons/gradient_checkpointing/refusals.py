"""Keeps torch's own checkpoint out of one that is written by hand."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from torch.utils import checkpoint as library

from grader.observing.contract import fail

# What each form of torch's checkpoint calls before the block runs, also where the learner's cell holds the function
# itself: the reentrant one, and the one without reentry.
SEAMS = ("check_backward_validity", "_checkpoint_without_reentrant_generator")


@contextlib.contextmanager
def refuse_checkpointing() -> Iterator[None]:
    """Fail the check when the block calls an entry point of `torch.utils.checkpoint`, or a library that does."""
    kept = {name: getattr(library, name) for name in SEAMS}
    for name in SEAMS:
        setattr(library, name, _refuse)
    try:
        yield
    finally:
        for name, function in kept.items():
            setattr(library, name, function)


def _refuse(*_: Any, **__: Any) -> None:
    fail(
        "library_checkpoint_used",
        "a checkpoint by hand: a torch.autograd.Function whose backward runs the block again",
        "a call of torch.utils.checkpoint",
        "You call torch's checkpoint, but the exercise is by hand. Store the input, and run the block again.",
    )

"""Keeps what Accelerate holds for the whole process apart for one block: the first Accelerator decides for all others.

After one `Accelerator(mixed_precision="bf16")`, a later `Accelerator()` computes in bf16, too. So a corrected answer
would fail for the mistake of the one before it.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Iterator
from typing import Any

import torch

from grader.testbed.extras import import_train_extra

Shared = dict[str, Any]


def _shared() -> list[Shared]:
    """Return the dicts that all objects of a class share; [] while Accelerate is not imported."""
    state = sys.modules.get("accelerate.state")
    classes = (state.PartialState, state.AcceleratorState, state.GradientState) if state else ()
    return [owner._shared_state for owner in classes]


def _exchange(new: list[Shared]) -> None:
    for number, shared in enumerate(_shared()):
        shared.clear()
        shared.update(new[number] if number < len(new) else {})


@contextlib.contextmanager
def own_accelerate_state() -> Iterator[None]:
    """Let the first Accelerator made in the block begin without what earlier ones decided; afterwards that holds again.

    An Accelerator made before the block works in it as long as the block makes none. Products stay in float32, although
    Accelerate, and the Trainer's arguments, switch tf32 on where they compile on CUDA.
    """
    kept = [dict(shared) for shared in _shared()]
    accelerate = sys.modules.get("accelerate")
    if accelerate is None or not kept:
        try:
            yield
        finally:
            _exchange([])
        return
    make = accelerate.Accelerator.__init__
    is_first = True

    @functools.wraps(make)
    def make_first(self: Any, *arguments: Any, **keywords: Any) -> None:
        nonlocal is_first
        if is_first:
            is_first = False
            _exchange([])
        make(self, *arguments, **keywords)
        torch.set_float32_matmul_precision("highest")  # where they compile on CUDA, both libraries switch tf32 on

    accelerate.Accelerator.__init__ = make_first
    try:
        yield
    finally:
        accelerate.Accelerator.__init__ = make
        if not is_first:
            _exchange(kept)


@contextlib.contextmanager
def fresh_accelerate_state() -> Iterator[None]:
    """Let the block make Accelerators of any precision, and what follows it too.

    The Trainer forgets the state in this same way before it makes its own Accelerator.
    """
    state = import_train_extra("accelerate.state").AcceleratorState
    state._reset_state(reset_partial_state=True)
    try:
        yield
    finally:
        state._reset_state(reset_partial_state=True)

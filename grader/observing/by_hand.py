"""Keeps the taught library out of a loop that is written by hand."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from grader.observing.contract import fail


@contextlib.contextmanager
def refuse_libraries(*, is_accelerate_refused: bool) -> Iterator[None]:
    """Fail the check when the block calls `Trainer.train`, or the two calls of Accelerate that make up its loop.

    Args:
        is_accelerate_refused: Whether `Accelerator.prepare` and `Accelerator.backward` fail too.
    """
    from accelerate import Accelerator
    from transformers import Trainer

    refused: list[tuple[Any, str]] = [(Trainer, "train")]
    if is_accelerate_refused:
        refused += [(Accelerator, "prepare"), (Accelerator, "backward")]
    kept = [(owner, name, getattr(owner, name)) for owner, name in refused]
    for owner, name in refused:
        setattr(owner, name, _refuse(owner.__name__, name, is_accelerate_refused))
    try:
        yield
    finally:
        for owner, name, method in kept:
            setattr(owner, name, method)


def _refuse(owner: str, name: str, is_accelerate_refused: bool) -> Callable[..., Any]:
    def refuse(*_: Any, **__: Any) -> None:
        if is_accelerate_refused:
            expected = "a loop in raw PyTorch: forward, backward and update are lines of your own"
        else:
            expected = "a loop, in raw PyTorch or with Accelerate"
        look_at = f"You call {owner}.{name}. Write the lines of the loop that it replaces."
        fail(f"{owner.lower()}_used", expected, f"a call of {owner}.{name}", look_at)

    return refuse

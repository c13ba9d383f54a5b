"""Keeps PyTorch's optimizers out of an answer that is written by hand."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.optim import adam

from grader.meters import optimizer_state
from grader.observing.contract import fail


@contextlib.contextmanager
def refuse_optimizers(instead: str, look_at: str) -> Iterator[None]:
    """Fail the check when the block makes an optimizer, or calls the functions that PyTorch's Adam consists of.

    Args:
        instead: What is asked for, for the message.
        look_at: The diagnosis, and where the learner looks next.
    """
    # What each of them calls, also where the learner's cell holds the class or the function itself.
    seams: tuple[tuple[Any, str], ...] = (
        (torch.optim.Optimizer, "__init__"),
        (adam, "_single_tensor_adam"),
        (adam, "_multi_tensor_adam"),
        (adam, "_fused_adam"),
        (torch, "_fused_adam_"),
        (torch, "_fused_adamw_"),
    )
    kept = [getattr(owner, name) for owner, name in seams]
    for owner, name in seams:
        setattr(owner, name, _refuse(instead, look_at))
    try:
        yield
    finally:
        for (owner, name), function in zip(seams, kept, strict=True):
            setattr(owner, name, function)


def _refuse(instead: str, look_at: str) -> Callable[..., None]:
    def refuse(*_: Any, **__: Any) -> None:
        fail("torch_optimizer_used", instead, "an optimizer of PyTorch", look_at)

    return refuse


@contextlib.contextmanager
def refuse_count() -> Iterator[None]:
    """Fail the check when the block calls the course's own meter of optimizer state."""

    def refuse(*_: Any, **__: Any) -> None:
        look_at = "You call a meter of the course. Walk through the entries of optimizer.state yourself."
        fail(
            "meter_called",
            "a count of your own",
            "a call of optimizer_state_bytes or optimizer_state_elements",
            look_at,
        )

    names = ("leaves_in", "optimizer_state_tensors")  # what the two meters call first
    kept = [getattr(optimizer_state, name) for name in names]
    for name in names:
        setattr(optimizer_state, name, refuse)
    try:
        yield
    finally:
        for name, function in zip(names, kept, strict=True):
            setattr(optimizer_state, name, function)

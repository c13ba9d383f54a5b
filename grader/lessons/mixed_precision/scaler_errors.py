"""Explains what goes wrong with a GradScaler, and keeps it out of a scaler that is written by hand."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch

from grader.observing.contract import fail

# The errors that a GradScaler raises where its calls come in another order than it needs.
_NOT_UPDATED = (
    "scale_not_updated",
    "a second update with the scaler still at the first",
    "You start another update before the scale of the last one is updated. Call scaler.update() after each step.",
)
_SCALER_ERRORS = (
    ("step() has already been called since the last update()", *_NOT_UPDATED),
    (
        "unscale_() has already been called on this optimizer",
        "unscaled_twice",
        "a second unscale_() in the same update",
        "You unscale twice in one update. Call scaler.unscale_(optimizer) once, after the last backward().",
    ),
    (
        "unscale_() is being called after step()",
        "unscaled_after_step",
        "unscale_() after the step",
        "You unscale after the step. The order is: unscale, clip, step, update.",
    ),
    (
        "Attempting to unscale FP16 gradients",
        "weights_in_16_bit",
        "gradients in fp16, of weights in fp16",
        "You convert the weights to fp16, which is not mixed precision. Leave them in float32: autocast casts for you.",
    ),
    (
        "No inf checks were recorded for this optimizer",
        "no_gradient_to_unscale",
        "scaler.step(optimizer) found no gradient",
        "You step without any gradient. Call backward() on the scaled loss, and no zero_grad() before the step.",
    ),
    (
        "No inf checks were recorded",
        "updated_without_step",
        "scaler.update() before any gradient was looked at",
        "You update the scale before scaler.step(optimizer) has looked for inf. Call scaler.update() after it, once.",
    ),
    (
        "Attempted ",
        "nothing_scaled",
        "a scaler that was given no loss",
        "You never scale a loss. Start each backward pass from scaler.scale(loss).",
    ),
)
_RAISED_BY_A_MISSING_UPDATE_TOO = ("unscaled_twice", "unscaled_after_step")


@contextlib.contextmanager
def explain_scaler_errors(is_first: Callable[[], bool]) -> Iterator[None]:
    """Explain errors of GradScaler in three lines.

    Args:
        is_first: Whether the update that failed is the first: a later one fails because the scale of the last one was
            not updated.
    """
    try:
        yield
    except (AssertionError, RuntimeError, ValueError) as error:
        for beginning, *explained in _SCALER_ERRORS:
            if str(error).startswith(beginning):
                is_left_over = explained[0] in _RAISED_BY_A_MISSING_UPDATE_TOO and not is_first()
                code, measured, look_at = _NOT_UPDATED if is_left_over else explained
                expected = "one scaled backward or more, one step and one update of the scaler for each update"
                fail(code, expected, measured, look_at)
        raise


@contextlib.contextmanager
def refuse_library_scaler() -> Iterator[None]:
    """Fail the check when the block makes or uses a GradScaler of PyTorch."""

    def refuse(*_: Any, **__: Any) -> None:
        look_at = "You use PyTorch's scaler. Write what its step() and update() do yourself."
        fail("library_scaler_used", "a scaler of your own", "a torch.amp.GradScaler", look_at)

    names = ("__init__", "unscale_", "step", "update")
    kept = [getattr(torch.amp.GradScaler, name) for name in names]
    for name in names:
        setattr(torch.amp.GradScaler, name, refuse)
    try:
        yield
    finally:
        for name, method in zip(names, kept, strict=True):
            setattr(torch.amp.GradScaler, name, method)

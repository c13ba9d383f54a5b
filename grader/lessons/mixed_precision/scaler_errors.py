"""Explains what goes wrong with a GradScaler, and keeps it out of a scaler that is written by hand."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch

from grader.observing.contract import fail

# What torch says where the calls of a GradScaler come in another order than it needs.
_SCALER_ERRORS = (
    (
        "step() has already been called since the last update()",
        "scale_not_updated",
        "a second update with the scaler of the first",
        "who calls scaler.update(), and when: the scale is adjusted once after each step",
    ),
    (
        "unscale_() has already been called on this optimizer",
        "unscaled_twice",
        "a second unscale_() in the same update",
        "how often the gradients of one update are divided by the scale: once, when all of them are there",
    ),
    (
        "unscale_() is being called after step()",
        "unscaled_after_step",
        "unscale_() after the step",
        "the order: unscale, clip, step, update",
    ),
    (
        "unscale_() is being called after step()",
        "scale_not_updated",
        "a second update with the scaler still at the first",
        "who calls scaler.update(), and when: the scale is adjusted once after each step",
    ),
    (
        "Attempting to unscale FP16 gradients",
        "weights_in_16_bit",
        "gradients in fp16, of weights in fp16",
        "model.half() is not mixed precision: autocast casts inside its region, and leaves the weights",
    ),
    (
        "No inf checks were recorded for this optimizer",
        "no_gradient_to_unscale",
        "scaler.step(optimizer) found no gradient",
        "what comes before the step: a backward() of the scaled loss, and no zero_grad() in between",
    ),
    (
        "No inf checks were recorded",
        "updated_without_step",
        "scaler.update() before any gradient was looked at",
        "who decides on the step: scaler.step(optimizer) looks for inf; update() comes after it, once",
    ),
    (
        "Attempted ",
        "nothing_scaled",
        "a scaler that was given no loss",
        "scaler.scale(loss): the backward has to start from the scaled loss",
    ),
)


@contextlib.contextmanager
def explain_scaler_errors(*, is_first: bool = False) -> Iterator[None]:
    """Say in three lines what an error of GradScaler means.

    Args:
        is_first: Whether no update came before, which could have left the scaler in the middle of its work.
    """
    try:
        yield
    except (AssertionError, RuntimeError, ValueError) as error:
        for beginning, code, measured, look_at in _SCALER_ERRORS:
            if code == "unscaled_after_step" and not is_first:
                continue
            if str(error).startswith(beginning):
                fail(
                    code,
                    "one scaled backward or more, one step and one update of the scaler for each update",
                    measured,
                    look_at,
                )
        raise


@contextlib.contextmanager
def refuse_library_scaler() -> Iterator[None]:
    """Fail the check when the block makes or uses a GradScaler of PyTorch."""

    def refuse(*_: Any, **__: Any) -> None:
        look_at = "the five lines that scaler.step and scaler.update stand for: they are yours to write"
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

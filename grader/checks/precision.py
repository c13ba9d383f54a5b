"""Records in which number format a model computes, and what is done with loss scalers."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from grader.checks.contract import fail

Method = Callable[..., Any]


@dataclass
class PrecisionRecord:
    """What one training run did about number formats, in order.

    Attributes:
        autocast_formats: For each forward, the format of autocast inside the model; "float32" where it was off.
        is_backward_in_autocast: For each call of backward, whether it stood inside an autocast region.
        scalers: For each GradScaler that was made, its "device" and whether it "is_enabled".
        scaled_losses: How many losses each of these scalers was given.
        accelerators: For each backward through an Accelerator after a forward of the model, its "precision", and
            whether it "has_scaler".
    """

    autocast_formats: list[str] = field(default_factory=list)
    is_backward_in_autocast: list[bool] = field(default_factory=list)
    scalers: list[dict[str, Any]] = field(default_factory=list)
    scaled_losses: int = 0
    accelerators: list[dict[str, Any]] = field(default_factory=list)

    def facts(self) -> dict[str, Any]:
        """Return the record as plain data."""
        return dict(vars(self))


@contextlib.contextmanager
def record_precision(model: nn.Module) -> Iterator[PrecisionRecord]:
    """Record formats and scalers while the block runs.

    A forward is seen inside the model, at its first linear layer: Accelerate and the Trainer enter autocast within the
    forward of the whole.

    Args:
        model: A model with a linear layer.
    """
    record = PrecisionRecord()
    first = next(module for module in model.modules() if isinstance(module, nn.Linear))

    def after_forward(layer: nn.Module, _: Any, output: Tensor) -> None:
        place = output.device.type
        is_on = torch.is_autocast_enabled(place)
        format_ = torch.get_autocast_dtype(place) if is_on else torch.float32
        record.autocast_formats.append(str(format_).removeprefix("torch."))

    seams: list[tuple[Any, str, Callable[[Method], Method]]] = [
        (torch.autograd, "backward", lambda method: _noting_backward(method, record, first)),
        (torch.amp.GradScaler, "__init__", lambda method: _noting_scaler(method, record)),
        (torch.amp.GradScaler, "scale", lambda method: _noting_scaled(method, record)),
        (_accelerator_class(), "backward", lambda method: _noting_accelerator(method, record)),
    ]
    kept = [getattr(owner, name) for owner, name, _ in seams]
    handle = first.register_forward_hook(after_forward)
    for (owner, name, wrap), method in zip(seams, kept, strict=True):
        setattr(owner, name, wrap(method))
    try:
        yield record
    finally:
        handle.remove()
        for (owner, name, _), method in zip(seams, kept, strict=True):
            setattr(owner, name, method)


def _accelerator_class() -> Any:
    from accelerate import Accelerator

    return Accelerator


def _noting_backward(method: Method, record: PrecisionRecord, layer: nn.Module) -> Method:
    def noted(*arguments: Any, **keywords: Any) -> Any:
        place = next(layer.parameters()).device.type
        record.is_backward_in_autocast.append(torch.is_autocast_enabled(place))
        return method(*arguments, **keywords)

    return noted


def _noting_scaler(method: Method, record: PrecisionRecord) -> Method:
    def noted(scaler: Any, *arguments: Any, **keywords: Any) -> None:
        method(scaler, *arguments, **keywords)
        record.scalers.append({"device": str(scaler._device), "is_enabled": scaler.is_enabled()})

    return noted


def _noting_scaled(method: Method, record: PrecisionRecord) -> Method:
    def noted(scaler: Any, outputs: Any) -> Any:
        record.scaled_losses += isinstance(outputs, Tensor)
        return method(scaler, outputs)

    return noted


def _noting_accelerator(method: Method, record: PrecisionRecord) -> Method:
    def noted(accelerator: Any, *arguments: Any, **keywords: Any) -> Any:
        if len(record.autocast_formats) > len(record.accelerators):
            has_scaler = accelerator.scaler is not None
            record.accelerators.append({"precision": str(accelerator.mixed_precision), "has_scaler": has_scaler})
        return method(accelerator, *arguments, **keywords)

    return noted


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
        "No inf checks were recorded",
        "updated_without_step",
        "scaler.update() before any gradient was looked at",
        "the order: unscale, clip, step, update; update() comes once, at the end",
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
                fail(code, "one unscale, step and update of the scaler for each group", measured, look_at)
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


@contextlib.contextmanager
def fresh_accelerate_state() -> Iterator[None]:
    """Let the block make Accelerators of any precision, and what follows it too.

    Accelerate keeps the precision of the first Accelerator for the whole process. The Trainer forgets it in this same
    way before it makes its own.
    """
    from accelerate.state import AcceleratorState

    AcceleratorState._reset_state(reset_partial_state=True)  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        AcceleratorState._reset_state(reset_partial_state=True)  # type: ignore[no-untyped-call]

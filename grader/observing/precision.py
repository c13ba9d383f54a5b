"""Records in which number format a model computes, and what is done with loss scalers."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

Method = Callable[..., Any]


@dataclass
class PrecisionRecord:
    """What one training run did about number formats, in order.

    Attributes:
        autocast_formats: For each forward, the format of autocast inside the model; "float32" where it was off.
        layer_formats: For each forward, the format of the weight of the model's first linear layer.
        is_backward_in_autocast: For each backward that follows a forward of the model, whether it stood inside an
            autocast region.
        scalers: For each GradScaler that was made, its "device" and whether it "is_enabled".
        scaled_losses: How many losses each of these scalers was given.
        accelerators: For each backward through an Accelerator after a forward of the model, its "precision", and
            whether it "has_scaler".
    """

    autocast_formats: list[str] = field(default_factory=list)
    layer_formats: list[str] = field(default_factory=list)
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

    def after_forward(layer: nn.Linear, _: Any, output: Tensor) -> None:
        place = output.device.type
        is_on = torch.is_autocast_enabled(place)
        format_ = torch.get_autocast_dtype(place) if is_on else torch.float32
        record.autocast_formats.append(str(format_).removeprefix("torch."))
        record.layer_formats.append(str(layer.weight.dtype).removeprefix("torch."))

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
    forwards_before = 0

    def noted(*arguments: Any, **keywords: Any) -> Any:
        nonlocal forwards_before
        if len(record.autocast_formats) > forwards_before:  # else it is the backward of another model
            place = next(layer.parameters()).device.type
            record.is_backward_in_autocast.append(torch.is_autocast_enabled(place))
            forwards_before = len(record.autocast_formats)
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


@contextlib.contextmanager
def record_asked_devices() -> Iterator[list[str]]:
    """Record for which devices the block makes autocast regions and scalers, and make none of them do anything.

    On a model on the "meta" device, which is no real one, this finds a device that was written down.
    """
    asked: list[str] = []
    make_region, make_scaler = torch.autocast.__init__, torch.amp.GradScaler.__init__

    def note_region(region: Any, device_type: Any = None, *_: Any, **__: Any) -> None:
        asked.append(str(device_type))
        make_region(region, "cpu", enabled=False)

    def note_scaler(scaler: Any, device: Any = "cuda", *_: Any, **__: Any) -> None:
        asked.append(str(device))
        make_scaler(scaler, "cpu", enabled=False)

    with contextlib.ExitStack() as stack:
        for owner, method in ((torch.autocast, note_region), (torch.amp.GradScaler, note_scaler)):
            stack.callback(setattr, owner, "__init__", owner.__init__)
            owner.__init__ = method  # type: ignore[method-assign, assignment]
        yield asked

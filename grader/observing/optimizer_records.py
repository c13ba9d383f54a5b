"""Records which optimizers update a model, with which options for each parameter, and what they keep."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import nn
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from grader.meters.storages import distinct_storage_bytes, optimizer_state_tensors, tensors_in


class UpdateRecord:
    """What the optimizers of one model were, and what they kept.

    Attributes:
        updates: For each step of an optimizer that holds a parameter of the model: "optimizer", its library and class,
            such as "torch.AdamW"; "decays" and "rates", weight decay and learning rate of each parameter in the model's
            order, None for a parameter that it does not hold; "options", the other options of its first group that are
            numbers, truths, None, or tuples of numbers.
        formats: After the last step, for each parameter its state as `state_formats` counts it.
        state_bytes: Bytes of the state of all these optimizers after the last step, each storage once.
    """

    def __init__(self, model: nn.Module):
        self.parameters = list(model.parameters())
        self.updates: list[dict[str, Any]] = []
        self.formats: list[dict[str, int]] = []
        self.state_bytes = 0
        self._optimizers: list[torch.optim.Optimizer] = []

    def facts(self) -> dict[str, Any]:
        """Return what an observation says of the updates."""
        return {"updates": self.updates, "formats": self.formats, "state_bytes": self.state_bytes}

    def before_update(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        """Note the options of a step."""
        groups = {id(parameter): group for group in optimizer.param_groups for parameter in group["params"]}
        own = [groups.get(id(parameter)) for parameter in self.parameters]
        if not any(own):
            return
        if not any(optimizer is known for known in self._optimizers):
            self._optimizers.append(optimizer)
        kind, first = type(optimizer), next(group for group in own if group)
        decays = [None if group is None else float(group.get("weight_decay", 0.0)) for group in own]
        rates = [None if group is None else _plain(group.get("lr")) for group in own]
        options = {name: _plain(value) for name, value in first.items() if name not in ("params", "lr", "weight_decay")}
        name = f"{kind.__module__.partition('.')[0]}.{kind.__name__}"
        self.updates.append({"optimizer": name, "decays": decays, "rates": rates, "options": options})

    def after_update(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        """Note what the optimizers keep."""
        if any(optimizer is known for known in self._optimizers):
            states = [{id(p): state for p, state in known.state.items()} for known in self._optimizers]
            kept = [[state.get(id(parameter), {}) for state in states] for parameter in self.parameters]
            self.formats = state_formats(kept)
            self.state_bytes = distinct_storage_bytes(
                tensor for known in self._optimizers for tensor in optimizer_state_tensors(known)
            )


@contextlib.contextmanager
def record_updates(model: nn.Module) -> Iterator[UpdateRecord]:
    """Record every update of `model` while the block runs."""
    record = UpdateRecord(model)
    handles = [
        register_optimizer_step_pre_hook(record.before_update),
        register_optimizer_step_post_hook(record.after_update),
    ]
    try:
        yield record
    finally:
        for handle in handles:
            handle.remove()


def state_formats(states: Sequence[object]) -> list[dict[str, int]]:
    """Count the numbers in the state of each tensor, by their format.

    Args:
        states: What the optimizers keep for each tensor.

    Returns:
        For each state its numbers by format, for example {"uint8": 8192, "float32": 64}. Tensors of a storage that
        several states hold, as a code book is, are left out of all but the first.
    """
    formats: list[dict[str, int]] = []
    seen: set[int] = set()
    for state in states:
        counted: Counter[str] = Counter()
        for tensor in tensors_in(state):
            address = tensor.untyped_storage().data_ptr()
            if address not in seen or not tensor.numel():
                counted[str(tensor.dtype).removeprefix("torch.")] += tensor.numel()
            seen.add(address)
        formats.append(dict(counted))
    return formats


def state_elements(state: object) -> int:
    """Count the numbers in the tensors of a state, each tensor once."""
    return sum({id(tensor): tensor.numel() for tensor in tensors_in(state)}.values())


def _plain(value: Any) -> Any:
    """Return a number, a truth, None or a tuple of numbers as JSON can hold it; anything else as text."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float) or (isinstance(value, torch.Tensor) and value.numel() == 1):
        return float(value)
    if isinstance(value, tuple | list):
        return [_plain(part) for part in value]
    return str(value)[:40]

"""Records in which number formats an optimizer keeps its state."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import nn
from torch.optim.optimizer import register_optimizer_step_post_hook

from grader.meters.storages import tensors_in


def state_formats(states: Sequence[object]) -> list[dict[str, int]]:
    """Count the numbers in the state of each tensor, by their format.

    Args:
        states: What the optimizer keeps for each tensor.

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


@contextlib.contextmanager
def record_state_formats(model: nn.Module) -> Iterator[list[list[dict[str, int]]]]:
    """Record the formats of the state of every parameter of `model` after each update, while the block runs.

    Yields:
        For each step of an optimizer that holds a parameter of the model, `state_formats` in the model's order; {} for
        a parameter that this optimizer keeps nothing for.
    """
    steps: list[list[dict[str, int]]] = []

    def after_update(optimizer: torch.optim.Optimizer, *_: Any) -> None:
        held = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
        own = [parameter for parameter in model.parameters() if id(parameter) in held]
        if own:
            steps.append(state_formats([optimizer.state.get(parameter, {}) for parameter in model.parameters()]))

    handle = register_optimizer_step_post_hook(after_update)
    try:
        yield steps
    finally:
        handle.remove()

"""What runs on each rank: a learner's split block, forward and backward."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from grader.lessons.model_and_pipeline_parallel.blocks import PARTS, block_cases
from grader.lessons.model_and_pipeline_parallel.call_log import CallLog

MISSING_PARTS = "the block has no layers up and down"
NO_TENSOR, OTHER_SHAPE = "the block returns no tensor", "the block returns another shape than that of its input"
Report = dict[str, Any]


def observe_block(rank: int, world_size: int, answer: Callable[..., Any], seed: int) -> Report:
    """Split the block of this number of ranks, and run it forward and backward once."""
    case = next(case for case in block_cases(seed) if case.world_size == world_size)
    whole = case.make_block()
    watched = [weakref.ref(one) for one in whole.parameters() if one.dim() > 1]
    with CallLog() as building:
        block = answer(whole, rank, world_size)
    del whole
    gc.collect()
    parts = _parts_of(block)
    shapes = {name: list(part.shape) for name, part in parts.items()}
    if [*shapes["up.weight"][1:], *shapes["down.weight"]] != [case.width, case.width, *shapes["up.weight"][:1]]:
        return {"facts": {"shapes": shapes}, "tensors": {}}  # layers that do not fit together cannot run
    held = {f"held {name}": part.detach().clone() for name, part in parts.items()}
    hidden, gradient = case.make_tensors()
    hidden.requires_grad_()
    given = hidden * 1.0
    with CallLog() as forward:
        output = block(given)
    if not isinstance(output, Tensor):
        raise TypeError(NO_TENSOR)
    if output.shape != hidden.shape:
        raise TypeError(OTHER_SHAPE)
    with CallLog() as backward:
        output.backward(gradient)  # type: ignore[no-untyped-call]
    facts = {
        "shapes": shapes,
        "own": sum(one.nbytes for one in (*block.parameters(), *block.buffers())),
        "bytes": _held_bytes(block),
        "whole_kept": sum(one() is not None for one in watched),
        "building": [list(event[::2]) for event in building.events],
        "forward": [list(event[::2]) for event in forward.events],
        "backward": [list(event[::2]) for event in backward.events],
        "largest": max(forward.largest, backward.largest),
        "without_gradient": [name for name, part in parts.items() if part.grad is None],
    }
    tensors = {"output": output, "input": _or_zeros(hidden)} | {name: _or_zeros(part) for name, part in parts.items()}
    tensors |= held
    return {"facts": facts, "tensors": tensors}


def _parts_of(block: Any) -> dict[str, Tensor]:
    parts = {}
    for name in PARTS:
        layer, _, kind = name.partition(".")
        part = getattr(getattr(block, layer, None), kind, None)
        if not isinstance(block, nn.Module) or not isinstance(part, Tensor):
            raise TypeError(MISSING_PARTS)
        parts[name] = part
    return parts


def _held_bytes(block: nn.Module) -> int:
    """Return the bytes of the storages behind parameters and buffers: those of a view are those of the whole."""
    storages = {one.untyped_storage().data_ptr(): one.untyped_storage() for one in block.state_dict().values()}
    return sum(storage.nbytes() for storage in storages.values())


def _or_zeros(tensor: Tensor) -> Tensor:
    return torch.zeros_like(tensor) if tensor.grad is None else tensor.grad

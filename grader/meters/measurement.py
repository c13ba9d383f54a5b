"""Measure the peak memory of a training step on the device where it runs."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain

import torch
from torch import nn

from grader.device import lesson_device
from grader.meters.compiled import has_compiled
from grader.meters.cuda_peak import measure_cuda_peak
from grader.meters.peak import PeakMemory
from grader.meters.second_call import record_second_call
from grader.meters.storages import parameters_of, tensors_in


def measure_peak_memory(
    step: Callable[[], object],
    *,
    model: nn.Module | None = None,
    optimizer: torch.optim.Optimizer | None = None,
    inputs: object = (),
    device: torch.device | str | None = None,
) -> PeakMemory:
    """Measure the most memory that one call of `step` holds at once.

    Calls `step` twice and counts every byte held at the peak of the second call: the first has no optimizer state yet.
    Counted are the storages that `model`, `optimizer` and `inputs` hold when the call begins, and all that is allocated
    in either call. On the CPU this is exact and repeatable. What a kernel allocates and frees within itself is not seen
    there, for example the workspace of a convolution or of a matrix product of 16-bit numbers.

    Args:
        step: Function of no arguments, for example one update on inputs [batch, time].
        model: Module whose parameters and gradients are reported separately.
        optimizer: Optimizer whose state is reported separately.
        inputs: Tensors that `step` reads, in any nesting of mappings and sequences.
        device: Where `step` allocates; if left out, where the model or the inputs are, else the lesson's device.

    Returns:
        Peak in bytes by kind, with the bytes above entry and the timeline.

    Raises:
        ValueError: if the second call leaves more memory held than it found, if the step is compiled and runs on the
            CPU, or if the model is on another device.

    Source: PyTorch documentation, torch.cuda.memory_stats.
    """
    if not callable(step):
        raise TypeError(f"step must be a function of no arguments, not {type(step).__name__}")
    place = _place_of(model, optimizer, inputs, device)
    if place.type == "cuda":
        return measure_cuda_peak(step, model, optimizer, inputs, place)
    if has_compiled(step, model):
        raise ValueError(
            "the step is compiled by torch.compile. On the CPU the meter watches each operator of an uncompiled run, "
            "so it would measure another program. Measure the uncompiled model, or use a CUDA device."
        )
    return record_second_call(step, model, optimizer, inputs)


def _place_of(
    model: nn.Module | None, optimizer: torch.optim.Optimizer | None, inputs: object, device: torch.device | str | None
) -> torch.device:
    """Return the device to measure; refuse one on which nothing of the step is."""
    tensors = chain(parameters_of(model, optimizer), tensors_in(inputs))
    present = {tensor.device.type: tensor.device for tensor in tensors}
    place = torch.device(device) if device is not None else next(iter(present.values()), lesson_device())
    if place.type not in ("cpu", "cuda"):
        raise ValueError(f"memory is measured on cpu and cuda, not on {place.type}")
    if present and place.type not in present:
        raise ValueError(f"the step is measured on {place.type}, but its model and inputs are on {', '.join(present)}")
    return place

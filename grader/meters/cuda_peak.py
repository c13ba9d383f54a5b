"""The peak on a CUDA device, from the allocator's own statistics."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from types import TracebackType

import torch
from torch import nn

from grader.meters.compiled import has_compiled
from grader.meters.peak import PeakMemory
from grader.meters.second_call import record_second_call, refuse_growth
from grader.meters.storages import (
    distinct_storage_bytes,
    gradients_of,
    optimizer_state_tensors,
    parameters_of,
    tensors_in,
)


class AllocatorPeak:
    """A context manager that reads the caching allocator before, at the peak of, and after the work inside it."""

    def __init__(self, device: torch.device):
        self.device = device
        self.entry_bytes = self.peak_bytes = self.exit_bytes = 0

    @property
    def above_entry_bytes(self) -> int:
        """Return the bytes allocated at the peak beyond those at entry."""
        return self.peak_bytes - self.entry_bytes

    def __enter__(self) -> AllocatorPeak:
        torch.cuda.synchronize(self.device)
        torch.cuda.reset_peak_memory_stats(self.device)
        self.entry_bytes = self._requested("current")
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is None:  # after a failed kernel the device may refuse every further call
            torch.cuda.synchronize(self.device)
            self.peak_bytes, self.exit_bytes = self._requested("peak"), self._requested("current")

    def _requested(self, moment: str) -> int:
        """Return the bytes that tensors asked for; only the native allocator counts them without its rounding."""
        kind = "requested" if torch.cuda.get_allocator_backend() == "native" else "allocated"
        return int(torch.cuda.memory_stats(self.device)[f"{kind}_bytes.all.{moment}"])


def measure_cuda_peak(
    step: Callable[[], object],
    model: nn.Module | None,
    optimizer: torch.optim.Optimizer | None,
    inputs: object,
    device: torch.device,
) -> PeakMemory:
    """Measure the second call by the allocator, and split it by kind.

    The bytes above entry are the allocator's. They are what tensors asked for, without the
    allocator's rounding and unsplit remainders: these depend on what ran before. Workspaces of kernels, which no
    operator returns, are "other". What the process holds in addition to the step is left out.

    Source: PyTorch documentation, torch.cuda.memory_stats.
    """
    allocator = AllocatorPeak(device)
    name = torch.cuda.get_device_name(device)
    if has_compiled(step, model):
        step()
        held = _held_by_identity(model, optimizer, inputs)
        with allocator:
            step()
        refuse_growth(allocator.exit_bytes - allocator.entry_bytes)
        recorded = PeakMemory(sum(held), 0, *held[:3], 0, held[3], (), name, "measured", torch.__version__)
    else:
        recorded = record_second_call(
            step, model, optimizer, inputs, device=name, device_type=device.type, around_second_call=allocator
        )
    peak_bytes = recorded.entry_bytes + allocator.above_entry_bytes
    return dataclasses.replace(
        recorded,
        peak_bytes=peak_bytes,
        above_entry_bytes=allocator.above_entry_bytes,
        other_bytes=recorded.other_bytes + peak_bytes - recorded.peak_bytes,
    )


def _held_by_identity(
    model: nn.Module | None, optimizer: torch.optim.Optimizer | None, inputs: object
) -> tuple[int, int, int, int]:
    """Return the bytes of parameters, gradients, optimizer state, and inputs with buffers."""
    parameters = parameters_of(model, optimizer)
    buffers = list(model.buffers()) if model is not None else []
    groups = [parameters, gradients_of(parameters), optimizer_state_tensors(optimizer), [*tensors_in(inputs), *buffers]]
    parameter, gradient, state, other = (
        distinct_storage_bytes(tensor for tensor in group if tensor.device.type == "cuda") for group in groups
    )
    return parameter, gradient, state, other

"""Call a step twice and record the second call; measurement and forecast share this.

`record_second_call(step, model, optimizer, inputs)` returns a `PeakMemory`. To forecast, enter a `FakeTensorMode` (and
any other mode) around it, and name the device and the operators in the result.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import Any

import torch
from torch import nn
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from grader.meters.allocation import GRADIENT, OPTIMIZER_STATE, OTHER, PARAMETER, AllocationMeter
from grader.meters.peak import PeakMemory
from grader.meters.storages import gradients_of, optimizer_state_tensors, parameters_of, tensors_in
from grader.units import format_bytes


def record_second_call(
    step: Callable[[], object],
    model: nn.Module | None = None,
    optimizer: torch.optim.Optimizer | None = None,
    inputs: object = (),
    *,
    device: str = "CPU",
    operators: str = "measured",
    device_type: str = "cpu",
    around_second_call: AbstractContextManager[object] | None = None,
) -> PeakMemory:
    """Call `step` twice under an `AllocationMeter` and return the peak of the second call.

    Args:
        step: Function of no arguments; what it returns is let go at once.
        model: Module whose parameters and gradients are reported separately.
        optimizer: Optimizer whose state is reported separately.
        inputs: Tensors that `step` reads, in any nesting.
        device: The device's name in the result.
        operators: Which operators ran, in the result.
        device_type: Storages on other devices are not counted; a fake tensor is on the device that it pretends.
        around_second_call: Entered right before the second call and left right after it.

    Returns:
        Peak in bytes by kind, with the bytes above entry and the timeline.

    Raises:
        ValueError: if the second call leaves more memory held than it found.
    """
    meter = AllocationMeter(device_type)
    try:
        with _collecting_between_calls(), _hooks(meter, model, optimizer), _unseen_work_shown_to(meter), meter:
            for surroundings in (nullcontext(), around_second_call or nullcontext()):
                gc.collect()
                _track_reachable(meter, model, optimizer, inputs)
                meter.restart()
                with surroundings:
                    step()
            gc.collect()
        refuse_growth(meter.held_bytes - meter.entry_bytes)
        return _peak_of(meter, device, operators)
    finally:
        meter.forget()


def _track_reachable(
    meter: AllocationMeter, model: nn.Module | None, optimizer: torch.optim.Optimizer | None, inputs: object
) -> None:
    """Count what is held already; a storage of two kinds is the kind tracked last."""
    parameters = parameters_of(model, optimizer)
    meter.track(tensors_in(inputs), OTHER)
    meter.track(model.buffers() if model is not None else (), OTHER)
    meter.track(optimizer_state_tensors(optimizer), OPTIMIZER_STATE)
    meter.track(gradients_of(parameters), GRADIENT)
    meter.track(parameters, PARAMETER)


@contextmanager
def _hooks(meter: AllocationMeter, model: nn.Module | None, optimizer: torch.optim.Optimizer | None) -> Iterator[None]:
    """Notify the meter when a gradient is in place and when an optimizer works; remove every hook on exit."""

    def gradient_is_in_place(parameter: torch.Tensor) -> None:
        meter.track(gradients_of([parameter]), GRADIENT)

    def step_begins(*_: Any) -> None:
        meter.optimizer_depth += 1

    def step_ends(stepped: torch.optim.Optimizer, *_: Any) -> None:
        meter.track(optimizer_state_tensors(stepped), OPTIMIZER_STATE)
        meter.optimizer_depth -= 1

    with ExitStack() as stack:
        for parameter in parameters_of(model, optimizer):
            if parameter.requires_grad and parameter.is_leaf:
                handle = parameter.register_post_accumulate_grad_hook(gradient_is_in_place)  # type: ignore[no-untyped-call]
                stack.callback(handle.remove)
        stack.callback(register_optimizer_step_pre_hook(step_begins).remove)
        stack.callback(register_optimizer_step_post_hook(step_ends).remove)
        yield


@contextmanager
def _unseen_work_shown_to(meter: AllocationMeter) -> Iterator[None]:
    """Show the meter what runs no operator: `storage.resize_(...)`, and the random states that checkpointing keeps."""
    resize, get_rng_state = torch.UntypedStorage.resize_, torch.get_rng_state

    def resize_and_tell(storage: torch.UntypedStorage, size: int) -> Any:
        result = resize(storage, size)
        meter.resized(storage)
        return result

    def get_rng_state_and_tell() -> torch.Tensor:
        state = get_rng_state()
        meter.allocated(state)
        return state

    torch.get_rng_state = get_rng_state_and_tell
    torch.UntypedStorage.resize_ = resize_and_tell  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        torch.get_rng_state = get_rng_state
        del torch.UntypedStorage.resize_  # the method itself is the base class's


@contextmanager
def _collecting_between_calls() -> Iterator[None]:
    """Keep the collector of reference cycles out of the calls, so that the bytes held are the same in every run.

    What exists already is frozen, which makes each collection look at new objects only.
    """
    was_enabled = gc.isenabled()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.unfreeze()
        if was_enabled:
            gc.enable()


def refuse_growth(growth_bytes: int) -> None:
    """Raise a ValueError that says what to look for, if a call leaves more memory held than it found."""
    if growth_bytes > 0:
        raise ValueError(
            f"each call of the step leaves {format_bytes(growth_bytes)} more memory held than it found. Look for a "
            "list or a variable outside the step that keeps tensors: a loss without .item(), outputs of earlier calls. "
            "Or the optimizer made its state only now, since a GradScaler skipped the first update: run the step once "
            "before you measure it."
        )


def _peak_of(meter: AllocationMeter, device: str, operators: str) -> PeakMemory:
    return PeakMemory(
        meter.peak_bytes,
        meter.peak_bytes - meter.entry_bytes,
        *meter.peak_by_kind,
        meter.timeline(),
        device,
        operators,
        torch.__version__,
    )

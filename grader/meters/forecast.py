"""Forecast the peak memory of a training step from shapes alone: BERT-large in seconds, on a laptop."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensor

from grader.meters.compiled import has_compiled
from grader.meters.cuda_operators import substitute_cuda_operators
from grader.meters.forecast_mode import CUDA_AUTOCAST, KEEP_TO_SHAPES, ForecastError, ForecastMode
from grader.meters.peak import PeakMemory
from grader.meters.second_call import record_second_call
from grader.meters.storages import optimizer_state_tensors, parameters_of, tensors_in

_ARGUMENTS = ("step", "model", "optimizer", "inputs")
_NO_CUDA_AUTOCAST = "CUDA is not available|User provided device_type of 'cuda'"  # what torch.autocast("cuda") warns of
_OPERATORS = {"cpu": "cpu", "cuda": "cuda (emulated)"}


def forecast_peak_memory(prepare: Callable[[], Mapping[str, Any]], *, operators: str = "cuda") -> PeakMemory:
    """Forecast the most memory that one call of a step holds at once, without running it.

    `prepare` builds the model, the optimizer and the inputs on the CPU. It runs with fake tensors, which have a shape
    and no memory, so a model of any size fits. The step is then called twice as `measure_peak_memory` does, and the
    second call counts. With the CPU's operators the forecast equals the measurement on the CPU to the byte.

    A value that the step reads by `.item()` is 0. The context of CUDA, the workspace of cuBLAS, the reserve of the
    allocator and its fragmentation are not forecast.

    Args:
        prepare: Function of no arguments; returns the arguments of `measure_peak_memory` as a dict: "step", and where
            they exist "model", "optimizer" and "inputs".
        operators: "cuda" for the operators that a CUDA device would run, emulated; "cpu" for those of the CPU.

    Returns:
        Peak in bytes by kind, with the bytes above entry and the timeline.

    Raises:
        ValueError: if `operators` or what `prepare` returns is something else, if a tensor was built outside
            `prepare` or on another device than the CPU, if the step is compiled, or if it asks for the values of a
            tensor in a way that has no answer; the message names the operator.

    Source: PyTorch documentation, torch.compiler_fake_tensor.
    """
    if operators not in _OPERATORS:
        raise ForecastError(f"operators is 'cuda' or 'cpu', not {operators!r}")
    if not callable(prepare):
        raise ForecastError(f"prepare must be a function of no arguments, not {type(prepare).__name__}")
    if torch._C._get_dispatch_mode(torch._C._TorchDispatchModeKey.FAKE) is not None:
        raise ForecastError("a forecast cannot run within a forecast. Call forecast_peak_memory outside of `prepare`.")
    with ExitStack() as stack:
        stack.enter_context(_errors_with_a_remedy())
        stack.enter_context(_modules_stay_on_the_cpu())
        if operators == "cuda":
            stack.enter_context(substitute_cuda_operators())
        mode = stack.enter_context(ForecastMode())
        job = _checked(prepare(), mode)
        return record_second_call(**job, device="fake tensors", operators=_OPERATORS[operators])


def _checked(job: object, mode: ForecastMode) -> dict[str, Any]:
    """Return what `prepare` returned if it can be forecast."""
    if not isinstance(job, Mapping):
        raise ForecastError(f"prepare must return a dict with the key 'step', not {type(job).__name__}")
    unknown = sorted(map(str, set(job) - set(_ARGUMENTS)))
    if unknown:
        raise ForecastError(f"prepare returned the unknown keys {unknown}; known are {', '.join(_ARGUMENTS)}")
    if not callable(job.get("step")):
        raise ForecastError("prepare must return a dict whose key 'step' is a function of no arguments")
    model, optimizer = job.get("model"), job.get("optimizer")
    if has_compiled(job["step"], model):
        raise ForecastError(
            "the step is compiled by torch.compile, and a forecast sees the operators of an uncompiled run only. "
            "Forecast the uncompiled model."
        )
    buffers = model.buffers() if model is not None else ()
    held = (*parameters_of(model, optimizer), *buffers, *optimizer_state_tensors(optimizer))
    for tensor in (*held, *tensors_in(job.get("inputs", ()))):
        _require_fake(tensor, mode)
    return dict(job)


def _require_fake(tensor: torch.Tensor, mode: ForecastMode) -> None:
    shape = list(tensor.shape)
    if not isinstance(tensor, FakeTensor) or tensor.fake_mode is not mode:
        raise ForecastError(
            f"a tensor of shape {shape} was not built inside prepare by PyTorch. Build the model, the optimizer and "
            "the inputs there, where tensors take no memory."
        )
    if tensor.device.type != "cpu":
        raise ForecastError(
            f"a tensor of shape {shape} is on {tensor.device.type}. Build everything on the CPU in prepare; "
            "operators='cuda' still forecasts the operators of a CUDA device."
        )


@contextmanager
def _modules_stay_on_the_cpu() -> Iterator[None]:
    """Let a module's `.to("cpu")` do nothing: fake tensors cannot be exchanged in it, and none has to be."""
    module_class: Any = nn.Module
    parse: Any = torch._C._nn._parse_to
    move = module_class.to

    def to(self: nn.Module, *arguments: Any, **keywords: Any) -> Any:
        device, dtype, _, layout = parse(*arguments, **keywords)
        if dtype is None and layout is None and device is not None and device.type == "cpu":
            return self
        return move(self, *arguments, **keywords)

    module_class.to = to
    try:
        yield
    finally:
        module_class.to = move


@contextmanager
def _errors_with_a_remedy() -> Iterator[None]:
    """Replace an error of PyTorch by one that says what to change."""
    with warnings.catch_warnings():
        warnings.filterwarnings("error", _NO_CUDA_AUTOCAST, UserWarning)
        try:
            yield
        except (AssertionError, RuntimeError, UserWarning) as error:
            remedy = _remedy(str(error))
            if remedy is None:
                raise
            raise ForecastError(remedy) from error


def _remedy(message: str) -> str | None:
    """Return what to change after an error of PyTorch, or None where it is not about fake tensors."""
    if "Please convert all Tensors to FakeTensors" in message:
        operator = re.search(r"Found in ([\w.:]+)", message)
        return (
            f"a tensor built outside prepare goes into {operator[1] if operator else 'an operator'}. "
            "Build all tensors inside prepare or inside the step."
        )
    if "Couldn't swap" in message:
        return (
            "prepare converts a module with .to() or .half(), and fake tensors cannot be exchanged in a module. "
            "Build it on the CPU, in its format; drop the conversion."
        )
    if ".numpy() is not supported" in message:
        return f"the step calls .numpy(), and a forecast has no values. {KEEP_TO_SHAPES}"
    if re.match(_NO_CUDA_AUTOCAST, message):
        return CUDA_AUTOCAST
    return None

"""Keeps the meters, and runs on ranks, out of an answer that is to be computed."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from grader.meters import forecast, measurement, saved_tensors
from grader.observing.contract import fail
from grader.ranks import run

Seam = tuple[ModuleType | type, str, str, str]  # where, what it calls first, misconception, what the learner called


@contextlib.contextmanager
def refuse_meters(instead: str) -> Iterator[None]:
    """Fail the check when the block measures or forecasts a peak.

    Args:
        instead: What is asked for, for the message.
    """
    # What each of them needs before the step runs, also where the learner's cell holds the function itself.
    with _refused(
        instead,
        (measurement, "record_second_call", "peak_measured", "measure_peak_memory"),
        (measurement, "measure_cuda_peak", "peak_measured", "measure_peak_memory"),
        (forecast, "ForecastMode", "peak_forecast", "forecast_peak_memory"),
    ):
        yield


@contextlib.contextmanager
def refuse_saved_tensors(instead: str) -> Iterator[None]:
    """Fail the check when the block measures what autograd saves.

    Args:
        instead: What is asked for, for the message.
    """
    # The meter's result, which it builds last: its hooks run for each tensor that is saved, and there may be none.
    with _refused(instead, (saved_tensors, "SavedTensors", "saved_tensors_measured", "measure_saved_tensors")):
        yield


@contextlib.contextmanager
def refuse_rank_runs(instead: str) -> Iterator[None]:
    """Fail the check when the block runs something on ranks, whose messages and calls are counted.

    Args:
        instead: What is asked for, for the message.
    """
    with _refused(instead, (run, "rank_module", "ranks_run", "run_ranks or look_at_ranks")):
        yield


@contextlib.contextmanager
def refuse_flop_counter(instead: str) -> Iterator[None]:
    """Fail the check when the block counts FLOPs with PyTorch's counter.

    Args:
        instead: What is asked for, for the message.
    """
    from torch.utils.flop_counter import FlopCounterMode  # no other lesson waits for this import

    with _refused(instead, (FlopCounterMode, "__enter__", "flops_counted", "FlopCounterMode")):
        yield


@contextlib.contextmanager
def _refused(instead: str, *seams: Seam) -> Iterator[None]:
    kept = [getattr(module, name) for module, name, *_ in seams]
    for module, name, code, called in seams:
        setattr(module, name, _refuse(code, called, instead))
    try:
        yield
    finally:
        for (module, name, *_), function in zip(seams, kept, strict=True):
            setattr(module, name, function)


def _refuse(code: str, called: str, instead: str) -> Callable[..., None]:
    def refuse(*_: Any, **__: Any) -> None:
        look_at = f"You call {called} instead of computing the answer. Look at the arguments of your function."
        fail(code, instead, f"a call of {called}", look_at)

    return refuse

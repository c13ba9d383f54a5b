"""Keeps the meters out of an answer that is to be computed."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from grader.meters import forecast, measurement
from grader.observing.contract import fail


@contextlib.contextmanager
def refuse_meters(instead: str) -> Iterator[None]:
    """Fail the check when the block measures or forecasts a peak.

    Args:
        instead: What is asked for, for the message.
    """
    # What each of them needs before the step runs, also where the learner's cell holds the function itself.
    seams: tuple[tuple[Any, str, str, str], ...] = (
        (measurement, "record_second_call", "peak_measured", "measure_peak_memory"),
        (measurement, "measure_cuda_peak", "peak_measured", "measure_peak_memory"),
        (forecast, "ForecastMode", "peak_forecast", "forecast_peak_memory"),
    )
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
        fail(code, instead, f"a call of {called}", "what your function is handed: how does the answer follow from it?")

    return refuse

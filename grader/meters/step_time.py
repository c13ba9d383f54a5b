"""Measure how long a step takes. Time depends on the machine and its other work: it is shown, never graded alone."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

from grader.device import lesson_device
from grader.units import format_seconds

_WIDE_SPREAD = 0.1


@dataclass(frozen=True, repr=False)
class StepTime:
    """The time of one step over several runs.

    Attributes:
        name: Name of the step's function.
        run_seconds: The time of each run, in the order of the runs.
    """

    name: str
    run_seconds: tuple[float, ...]

    @property
    def median_seconds(self) -> float:
        """Return the median of the runs."""
        return statistics.median(self.run_seconds)

    @property
    def interquartile_range_seconds(self) -> float:
        """Return the range that holds the middle half of the runs."""
        if len(self.run_seconds) < 2:
            return 0.0
        first, _, third = statistics.quantiles(self.run_seconds, n=4, method="inclusive")
        return third - first

    @property
    def relative_spread(self) -> float:
        """Return the interquartile range as a share of the median."""
        return self.interquartile_range_seconds / self.median_seconds

    def __repr__(self) -> str:
        return (
            f"{self.name}: {format_seconds(self.median_seconds)} median of {len(self.run_seconds)} runs, "
            f"the middle half within {format_seconds(self.interquartile_range_seconds)}"
        )


@dataclass(frozen=True, repr=False)
class StepTimes:
    """The times of one or more steps, measured in turns on one machine.

    Attributes:
        steps: One entry for each step, in the order given.
        device: "CPU", or the CUDA device by name.
        thread_count: Threads that PyTorch computes with on the CPU.
        torch_version: The version of PyTorch that ran.
    """

    steps: tuple[StepTime, ...]
    device: str
    thread_count: int
    torch_version: str

    @property
    def ratios(self) -> tuple[float, ...]:
        """Return each step's time as a multiple of the first step's: the median over the rounds."""
        first = self.steps[0].run_seconds
        return tuple(
            statistics.median(mine / reference for mine, reference in zip(step.run_seconds, first, strict=True))
            for step in self.steps
        )

    def __repr__(self) -> str:
        lines = [repr(step) for step in self.steps]
        if len(self.steps) > 1:
            lines = [f"{line}, {ratio:.2f} x the first" for line, ratio in zip(lines, self.ratios, strict=True)]
        spread = max(step.relative_spread for step in self.steps)
        if spread > _WIDE_SPREAD:
            lines.append(
                f"WARNING: the middle half spreads over {spread:.0%} of the median. Other work disturbs these times."
            )
        lines.append(f"  measured on {self.device}, {self.thread_count} CPU threads, torch {self.torch_version}")
        return "\n".join(lines)


def measure_step_time(
    *steps: Callable[[], object],
    run_count: int = 10,
    warm_up_count: int = 2,
    device: torch.device | str | None = None,
) -> StepTimes:
    """Measure how long one call of each step takes.

    The steps run in turns, so that a slow moment of the machine meets all of them. On CUDA the clock is read when the
    device has finished.

    Args:
        steps: Functions of no arguments; the first is what the others are compared with.
        run_count: Timed calls of each step.
        warm_up_count: Calls of each step before the timed ones.
        device: Where the steps compute; the lesson's device if left out.

    Returns:
        Median and spread of each step, and ratios to the first.

    Raises:
        ValueError: if no step is given, or no run is asked for.
    """
    if not steps or run_count < 1:
        raise ValueError("give at least one step and one run")
    place = torch.device(device) if device is not None else lesson_device()
    for _ in range(warm_up_count):
        for step in steps:
            step()
    seconds: list[list[float]] = [[] for _ in steps]
    for _ in range(run_count):
        for step, runs in zip(steps, seconds, strict=True):
            runs.append(_time_once(step, place))
    names = [_name_of(step, index) for index, step in enumerate(steps)]
    return StepTimes(
        tuple(StepTime(name, tuple(runs)) for name, runs in zip(names, seconds, strict=True)),
        torch.cuda.get_device_name(place) if place.type == "cuda" else "CPU",
        torch.get_num_threads(),
        torch.__version__,
    )


def _time_once(step: Callable[[], object], device: torch.device) -> float:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    start = time.perf_counter()
    step()
    if device.type == "cuda":
        torch.cuda.synchronize(device)  # the call returns before the device has finished
    return time.perf_counter() - start


def _name_of(step: Callable[[], object], index: int) -> str:
    name = getattr(step, "__name__", "<")
    return f"step {index + 1}" if name.startswith("<") else name

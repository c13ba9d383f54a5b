"""Forecasts the true peaks of the chains."""

from __future__ import annotations

from functools import cache

from grader.lessons.where_memory_goes.step_peak import ChainStep
from grader.meters.forecast import forecast_peak_memory
from grader.meters.peak import PeakMemory


@cache
def _forecast(case: ChainStep) -> PeakMemory:
    return forecast_peak_memory(case.prepare, operators="cpu")


def true_peak(case: ChainStep) -> int:
    """Return the peak in bytes, as the meter measures it on the CPU."""
    return _forecast(case).peak_bytes


def peak_is_in_update(case: ChainStep) -> bool:
    """Return whether the peak is in the update, and not in backward."""
    sample = _forecast(case).peak_sample
    return sample is not None and sample.phase == "optimizer"

"""Judges a measured peak against a share of a baseline's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from grader.meters.peak import PeakMemory
from grader.units import format_bytes
from grader.verdict import PASSED, Verdict


def claimed_peak_bytes(claim: Mapping[str, Any], needed_bytes: int) -> int:
    """Return the peak of a claim whose parts fit together.

    The runner bounds the bytes above entry from outside. Those at entry are bounded here: what a case needs anyhow
    cannot have been missing, so no bytes can be shifted out of the entry either.

    Args:
        claim: "peak_bytes" and "above_entry_bytes".
        needed_bytes: What the case's model and inputs hold when a call begins.

    Raises:
        ValueError: if less was held at entry than the case needs.
    """
    peak_bytes, above_entry_bytes = int(claim["peak_bytes"]), int(claim["above_entry_bytes"])
    if peak_bytes - above_entry_bytes < needed_bytes:
        entry = format_bytes(peak_bytes - above_entry_bytes)
        raise ValueError(f"{entry} at entry, but model and inputs alone have {format_bytes(needed_bytes)}")
    return peak_bytes


def judge_budget(peak_bytes: int, baseline: PeakMemory, share: float, *, code: str, look_at: str) -> Verdict:
    """Judge whether a peak keeps within `share` of the baseline's.

    Args:
        peak_bytes: The measured peak.
        baseline: The peak of the plain version, on the same data.
        share: The largest allowed ratio, between 0 and 1.
        code: The misconception that a miss shows.
        look_at: The diagnosis, and where the learner looks next.
    """
    ratio = peak_bytes / baseline.peak_bytes
    plain = f"the plain version's {format_bytes(baseline.peak_bytes)}"
    expected = f"a peak of at most {share:.0%} of {plain}: {format_bytes(share * baseline.peak_bytes)}"
    measured = f"{format_bytes(peak_bytes)}, which is {ratio:.0%} of {plain}"
    if ratio <= share:
        return Verdict(PASSED, expected, measured)
    return Verdict(code, expected, measured, look_at)

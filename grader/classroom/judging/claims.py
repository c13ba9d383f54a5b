"""Compare the peaks that a check claims with the growth of the kernel, as seen from outside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grader.gpu_files import has_gpu
from grader.units import KIB, MIB, format_bytes

LEAST_SLACK_BYTES = 4 * MIB  # what Python itself allocates during a step
SLACK = 0.1
LEAST_GROWTH, GROWTH_SLACK_BYTES = 0.5, MIB  # in the lessons' solutions, the growth is 0.80 to 1.08 of the claim
LEAST_CLAIM_BYTES = 64 * KIB  # that can pass, also where a check has no bound of its own
NOT_VERIFIED = "its peak memory was not verified from outside"


@dataclass(frozen=True)
class Claim:
    """What a check says of one measured call.

    Attributes:
        above_entry_bytes: Its peak, less what was held when it began.
        device: "cpu" or "cuda".
        least_bytes: What the judge computed from the case: no step of it can hold less above entry.
    """

    above_entry_bytes: int
    device: str
    least_bytes: int = 0

    @property
    def largest_growth_bytes(self) -> float:
        """Return how far the process may grow during the call for the claim to be accepted."""
        return self.above_entry_bytes + max(LEAST_SLACK_BYTES, SLACK * self.above_entry_bytes)

    @property
    def smallest_growth_bytes(self) -> float:
        """Return how far the process must grow: by less, if the step was announced around something else."""
        return LEAST_GROWTH * self.above_entry_bytes - GROWTH_SLACK_BYTES


def claims_fault(claims: Sequence[Claim], steps: Mapping[str, Any] | None) -> tuple[str, list[str]]:
    """Compare claims with the growth of the kernel.

    Args:
        claims: What the check claims, in order.
        steps: "grown_bytes" and "strays", as seen from outside; None where nothing can be seen.

    Returns:
        Why the claims are rejected, "" if they are not; and what was not verified.
    """
    if steps is None:
        return "", [NOT_VERIFIED] * bool(claims)
    if steps["strays"] or len(steps["grown_bytes"]) != len(claims):
        signals = f"{len(steps['grown_bytes'])} measured steps and {steps['strays']} other signals"
        return f"{signals} for {len(claims)} claims of peak memory", []
    notes = []
    for claim, grown_bytes in zip(claims, steps["grown_bytes"], strict=True):
        if claim.device == "cuda":
            if not has_gpu():
                return "a peak claimed for a CUDA device, on a machine without one", []
            notes.append(NOT_VERIFIED)
        elif grown_bytes is None:
            notes.append(NOT_VERIFIED)
        elif not claim.smallest_growth_bytes <= grown_bytes <= claim.largest_growth_bytes:
            claimed, seen = format_bytes(claim.above_entry_bytes), format_bytes(grown_bytes)
            return f"a peak of {claimed} above entry was claimed, and the kernel grew by {seen}", []
    return "", notes[:1]


def smallness_fault(claims: Sequence[Claim]) -> str:
    """Return why claims that would pass are rejected as physically impossible, "" if they are not."""
    for claim in claims:
        least_bytes = max(claim.least_bytes, LEAST_CLAIM_BYTES)
        if claim.above_entry_bytes < least_bytes:
            claimed, least = format_bytes(claim.above_entry_bytes), format_bytes(least_bytes)
            return f"a peak of {claimed} above entry was claimed, where the case needs {least} at the very least"
    return ""

"""Judges observations outside of the kernels that made them: `python -m grader.judging`, a process of its own.

A line of JSON on stdin, {"check", "seed", "observation"}, gives one on stdout: {"verdict", "claims"}, or {"malformed"}
with the reason why it is no observation of that check, or {"failed"} with an error of the judge's own. An observation
comes from a process that ran a learner's code: nothing in it is run, and nothing in it chooses its judge.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import json
import math
import os
import resource
import sys
from collections.abc import Mapping
from typing import Any

import torch

from grader.judging.claim_bounds import calls_fault, least_claims
from grader.observation import Observation, decode_observation
from grader.registry import is_check, judge_of
from grader.units import GIB
from grader.verdict import Verdict

MOST_MEMORY_BYTES = 6 * GIB
# What an observation can provoke that lacks a part, or has one of another type, size or range than its check writes.
PROVOKED = (ArithmeticError, AttributeError, LookupError, MemoryError, RuntimeError, TypeError, ValueError)

# The checks that let a NaN through to their judge, which tells where it comes from. Any other check refuses it in the
# kernel, and a comparison with NaN would pass where "larger than" is asked.
MAY_BE_NON_FINITE = {
    "check_clipped_updates",
    "check_relative_distance",
    "check_scaled_updates",
    "check_token_gradients",
}


def answer(request: Mapping[str, Any]) -> dict[str, Any]:
    """Judge one observation.

    Args:
        request: "check", a public name of the course; "seed" of its case; "observation", a text.

    Returns:
        What the process writes: "verdict" and "claims", or "malformed", or "failed".
    """
    check, seed = str(request["check"]), int(request["seed"])
    if not is_check(check):
        return {"failed": f"the course has no check {check!r}"}
    try:
        module, name = judge_of(check)
        judge = getattr(importlib.import_module(module), name)
    except Exception as error:
        return {"failed": _said(error)}
    try:
        observation = decode_observation(request["observation"])
        if check not in MAY_BE_NON_FINITE and not _is_finite(observation.facts):
            return {"malformed": "NaN or infinity, which this check never emits"}
        verdict: Verdict = judge(observation, seed)
        claims = _claims_of(observation, check, seed)
    except PROVOKED as error:
        return {"malformed": _said(error)}
    except Exception as error:
        return {"failed": _said(error)}
    return {"verdict": dataclasses.asdict(verdict), "claims": claims}


def _claims_of(observation: Observation, check: str, seed: int) -> list[dict[str, Any]]:
    """Return the claims of an observation, each with the least that it can be; the runner compares both."""
    claims = observation.facts.get("claims", [])
    for claim in claims:
        peak_bytes, above_entry_bytes = claim["peak_bytes"], claim["above_entry_bytes"]
        are_bytes = type(peak_bytes) is int and type(above_entry_bytes) is int
        if not are_bytes or not 0 <= above_entry_bytes <= peak_bytes or claim["device"] not in ("cpu", "cuda"):
            raise ValueError("a claim is no number of bytes on a device")
    if fault := calls_fault(check, observation.facts):
        raise ValueError(fault)
    least = (*least_claims(check, seed), *len(claims) * [0]) if claims else ()
    return [
        {"above_entry_bytes": claim["above_entry_bytes"], "device": claim["device"], "least_bytes": least_bytes}
        for claim, least_bytes in zip(claims, least, strict=False)
    ]


def _is_finite(value: Any) -> bool:
    if isinstance(value, dict):
        return all(_is_finite(item) for item in value.values())
    if isinstance(value, list):
        return all(_is_finite(item) for item in value)
    return not isinstance(value, float) or math.isfinite(value)


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:300]


def main() -> None:
    """Answer lines until stdin ends."""
    lines = os.fdopen(os.dup(1), "w", encoding="utf-8")  # what a library prints must not mix with the answers
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    torch.set_num_threads(1)
    with contextlib.suppress(ValueError, OSError):  # a lower limit stands already
        resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY_BYTES, MOST_MEMORY_BYTES))
    for line in sys.stdin:
        lines.write(json.dumps(answer(json.loads(line))) + "\n")
        lines.flush()


if __name__ == "__main__":
    main()

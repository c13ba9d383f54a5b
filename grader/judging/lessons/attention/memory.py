"""Judges what a tiled attention keeps for backward, and its peak."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from grader.judging.budget import claimed_peak_bytes, judge_budget
from grader.judging.equivalence import compare
from grader.judging.kept import keep_cases
from grader.lessons.attention.tiled import FLOAT32_BYTES, MemoryCase, digest_of, memory_case
from grader.meters.forecast import forecast_peak_memory
from grader.meters.peak import PeakMemory
from grader.observation import Observation
from grader.units import format_bytes
from grader.verdict import Verdict

# Query, key, value, output and logsumexp; two statistics in place of the logsumexp are 3 % more.
SAVED_SLACK = 1.05
DIGEST_TOLERANCE = 1e-3  # float32, in whatever order the tiles are summed
SHARE = 0.07  # a tile at a time has 5 %, a strip of all keys 9 % at the very least


def judge_tiled_memory(observation: Observation, seed: int) -> Verdict:
    """Judge that the measured call computed attention, then the saved bytes, then the peak."""
    case = memory_case(seed)
    error = compare(observation.tensors["digest"], true_digest(case)).relative_error
    if not error <= DIGEST_TOLERANCE:  # NaN is refused, too
        expected = f"attention of {case.time:,} positions, as in the check above"
        measured = f"a relative error of {error:.2g} in sums of its output and its gradients"
        look_at = "You compute something else on a long sequence, so its bytes do not count. Mend the values first."
        return Verdict("budget_of_another_attention", expected, measured, look_at)
    wanted = 4 * case.input_bytes + FLOAT32_BYTES * case.heads * case.time
    saved_bytes = observation.facts["saved_bytes"]
    if saved_bytes > SAVED_SLACK * wanted:
        expected = f"at most {format_bytes(round(SAVED_SLACK * wanted))} saved: query, key, value, output, logsumexp"
        measured = f"{format_bytes(saved_bytes)} saved for backward, {case.time:,} positions in tiles of {case.tile}"
        code, look_at = _explain_saved(case, saved_bytes - wanted, observation.facts)
        return Verdict(code, expected, measured, look_at)
    (claim,) = observation.facts["claims"]
    peak_bytes = claimed_peak_bytes(claim, 3 * case.input_bytes)
    baseline = eager_peak(case, "cpu" if claim["device"] == "cpu" else "cuda")
    code, look_at = _explain_peak(case, peak_bytes)
    return judge_budget(peak_bytes, baseline, SHARE, code=code, look_at=look_at)


@keep_cases
def true_digest(case: MemoryCase) -> Tensor:
    """Return the digest of eager attention, in float64."""
    inputs = [tensor.detach().double().requires_grad_() for tensor in case.draw()]
    query, key, value = inputs
    with torch.enable_grad():
        scores = query @ key.mT * case.head_dim**-0.5
        if case.is_causal:
            scores = scores.masked_fill(torch.ones(case.time, case.time, dtype=torch.bool).triu(1), -torch.inf)
        total = (scores.softmax(dim=-1) @ value).sum()
    torch.autograd.backward(total)
    return digest_of(total.detach(), inputs)


def _explain_saved(case: MemoryCase, excess: float, facts: Mapping[str, Any]) -> tuple[str, str]:
    if not facts["has_own_function"]:
        if facts["largest_saved_bytes"] >= case.matrix_bytes:
            look_at = (
                "You compute the whole matrix of weights at once, and autograd keeps it. Write the loop over tiles, "
            )
            return "matrix_kept_by_autograd", look_at + "and a backward of your own in the Function."
        look_at = "You let autograd record your loop, which keeps every tile. Write backward yourself, in the Function."
        return "tiles_kept_by_autograd", look_at
    if excess > 0.5 * case.matrix_bytes:
        look_at = "You save the matrix of weights for backward. Save the logsumexp, and compute the weights again."
        return "weights_kept", look_at
    look_at = (
        "You save more than query, key, value, output and logsumexp. Look at what forward_tiles returns second, or at "
        "save_for_backward in a Function of your own."
    )
    return "more_kept_than_needed", look_at


def _explain_peak(case: MemoryCase, peak_bytes: int) -> tuple[str, str]:
    if peak_bytes > 0.9 * case.matrix_bytes:
        look_at = (
            "You hold about as many numbers as there are pairs of positions, or more. Look for a whole product or "
            "mask, a list of tiles, and tiles larger than `tile`."
        )
        return "matrix_held", look_at
    look_at = (
        "You hold the scores of a tile of queries with all keys, or more than a few tiles at once. "
        "Look at the inner loop: one tile of keys at a time."
    )
    return "strip_held", look_at


@lru_cache(maxsize=4)
def eager_peak(case: MemoryCase, operators: str) -> PeakMemory:
    """Forecast forward and backward of eager attention."""

    def prepare() -> dict[str, object]:
        shape = (1, case.heads, case.time, case.head_dim)
        inputs = [torch.zeros(shape, requires_grad=True) for _ in range(3)]
        query, key, value = inputs

        def step() -> None:
            for tensor in inputs:
                tensor.grad = None
            scores = query @ key.mT * case.head_dim**-0.5
            torch.autograd.backward((scores.softmax(dim=-1) @ value).sum())

        return {"step": step, "inputs": inputs}

    return forecast_peak_memory(prepare, operators=operators)

"""Judges the scale of a cast, the largest value that it loses, and the share of such values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from grader.judging.misconceptions import Misconception
from grader.judging.nearness import within
from grader.judging.references import ReferenceTable, hard_coded
from grader.lessons.fp8_training.casts import CastCase, cast_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

PARTS = {"scale": "a scale of", "flushed": "a largest lost magnitude of", "share": "a lost share of"}


def predict_cast(sigma: float, largest: float, dtype: torch.dtype) -> tuple[float, float, float]:
    """Return the scale, the largest magnitude that becomes zero, and the share of normal values up to it."""
    limits = torch.finfo(dtype)
    scale = limits.max / largest
    smallest = limits.smallest_normal * limits.eps
    flushed = smallest / 2 / scale
    return scale, flushed, math.erf(flushed / (sigma * math.sqrt(2)))


def judge_predicted_cast(observation: Observation, seed: int) -> Verdict:
    """Compare the scale, then the threshold, then the share, of each case."""
    answer = CAST.answer(seed, observation.facts["answers"])
    for name, what in PARTS.items():
        part = answer.part(name)
        if part.is_right:
            continue
        case: CastCase = part.case
        return CAST.explain(
            answer,
            part,
            expected=f"{what} {part.truth:.5g} (sigma {case.sigma:g}, largest {case.largest:g}, {case.dtype})",
            measured=f"{part.value:.5g}",
            otherwise=_describe(name, case, part.value, part.truth),
        )
    return Verdict(PASSED, "", f"scale, threshold and lost share right for {len(answer.values)} tensors")


def _describe(name: str, case: CastCase, value: float, truth: float) -> str:
    """Say what differs, without a misconception that would explain it."""
    if name == "scale":
        brought = f"Your scale brings the largest magnitude to {value * case.largest:.5g}."
        return f"{brought} Compare that with the largest number of {case.dtype}."
    times = f"{value / truth:.4g} times the right one"
    if name == "flushed":
        return f"Your threshold for {case.dtype} is {times}. Cast scaled numbers around it: which come back as zero?"
    return f"Your threshold is right, your share is {times}. Compute it by `erf` from the threshold in units of sigma."


def _run(function: Callable[..., Any], case: CastCase) -> dict[str, float]:
    return dict(zip(PARTS, function(case.sigma, case.largest, case.format), strict=True))


SCALE = "scale = limits.max / largest"
SMALLEST = "limits.smallest_normal * limits.eps"
FLUSHED = "smallest / 2 / scale"
SHARE = "math.erf(flushed / (sigma * math.sqrt(2)))"
INVERTED = "scale = largest / limits.max"

CAST = ReferenceTable(
    predict_cast,
    Misconception(
        "scale_inverted",
        "Your scale is inverted. The tensor is multiplied by it before the cast, so its largest magnitude times the "
        "scale is the format's largest number.",
        {SCALE: INVERTED},
    ),
    Misconception(
        "outlier_left_out",
        "You compute the scale from sigma. The outlier is in the tensor, too, and would overflow.",
        {SCALE: "scale = limits.max / sigma"},
        variants=[{SCALE: "scale = limits.max / (3 * sigma)"}],
    ),
    Misconception(
        "largest_scaled_to_one",
        "You bring the largest magnitude to 1. Bring it to the format's largest number, or you give range away.",
        {SCALE: "scale = 1 / largest"},
    ),
    Misconception(
        "one_format_for_all",
        "You compute with e4m3's limits whatever the format is. Take those of `dtype`.",
        {"torch.finfo(dtype)": "torch.finfo(torch.float8_e4m3fn)"},
        variants=[{SCALE: "scale = 448 / largest"}, {SMALLEST: "2**-9"}],
    ),
    Misconception(
        "subnormals_forgotten",
        "You stop at the smallest normal number. Below it the subnormal ones go on, with the spacing of the smallest "
        "normal ones.",
        {SMALLEST: "limits.smallest_normal"},
        variants=[{SMALLEST: "limits.smallest_normal", FLUSHED: "smallest / scale"}],
    ),
    Misconception(
        "rounding_forgotten",
        "You lose everything below the smallest number of the format. The cast rounds: what is above its half becomes "
        "that number.",
        {FLUSHED: "smallest / scale"},
    ),
    Misconception(
        "threshold_not_scaled_back",
        "You leave the threshold in scaled units, or compute the share from it in these. Divide it by the scale.",
        {FLUSHED: "smallest / 2"},
        variants=[{FLUSHED: "smallest"}, {SHARE: "math.erf(flushed * scale / (sigma * math.sqrt(2)))"}],
    ),
    Misconception(
        "threshold_scaled_twice",
        "You multiply the threshold by the scale. The tensor was multiplied, so the way back divides.",
        {FLUSHED: "smallest / 2 * scale"},
    ),
    Misconception(
        "one_side_counted",
        "You count the positive values alone. Negative ones become zero, too.",
        {SHARE: "math.erf(flushed / (sigma * math.sqrt(2))) / 2"},
    ),
    Misconception(
        "distribution_function_returned",
        "You return the share of all values below the threshold, negative ones included. Asked for is the share "
        "between minus and plus the threshold.",
        {SHARE: "(1 + math.erf(flushed / (sigma * math.sqrt(2)))) / 2"},
    ),
    Misconception(
        "kept_share_returned",
        "You return the share that is kept. Asked for is the share that becomes zero.",
        {SHARE: "1 - math.erf(flushed / (sigma * math.sqrt(2)))"},
    ),
    Misconception(
        "sigma_not_used",
        "You do not divide the threshold by sigma, so it is not in units of the standard deviation.",
        {SHARE: "math.erf(flushed / math.sqrt(2))"},
        variants=[
            {SHARE: "math.erf(flushed * sigma / math.sqrt(2))"},
            {SHARE: "math.erf(flushed / math.sqrt(2 * sigma))"},
        ],
    ),
    Misconception(
        "root_of_two_missing",
        "You leave out the square root of two: a normal value is within z sigma with probability erf(z / sqrt(2)).",
        {SHARE: "math.erf(flushed / sigma)"},
    ),
    Misconception(
        "share_linear_in_the_threshold",
        "Your share grows in proportion to the threshold, as if values were spread evenly. Use `erf`.",
        {SHARE: "min(1.0, 2 * flushed / sigma / math.sqrt(2 * math.pi))"},
        variants=[{SHARE: "min(1.0, flushed / sigma)"}, {SHARE: "flushed / largest"}],
    ),
    Misconception(
        "order_exchanged",
        "You return the share before the threshold. The order is scale, threshold, share.",
        {f"flushed, {SHARE}": f"{SHARE}, flushed"},
    ),
    hard_coded(cast_cases),
    run=_run,
    cases=cast_cases,
    is_near=within(relative=1e-3),
)

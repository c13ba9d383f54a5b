"""Judges fake quantization: the rounded values, and the gradient that is passed straight through."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

from grader.judging.misconceptions import Misconception
from grader.judging.nearness import within
from grader.judging.references import ReferenceTable
from grader.lessons.quantization_and_lora.rounding import RoundingCase, rounding_cases, run_rounding
from grader.observation import Observation
from grader.verdict import PASSED, Verdict


def fake_quantize(values: Tensor, scale: float, bits: int) -> Tensor:
    """Return values on the grid, with a gradient for those in its range."""
    least, most = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    steps = values / scale
    clipped = steps.clamp(least, most)
    rounded = clipped + (clipped.round() - clipped).detach()
    return scale * rounded


def judge_fake_quantization(observation: Observation, seed: int) -> Verdict:
    """Judge the values, then the gradient."""
    cases, tensors = rounding_cases(seed), observation.tensors
    values = [{name: tensors[f"{index}.{name}"] for name in NAMES} for index in range(len(cases))]
    answer = TABLE.answer(seed, values)
    for name, what in NAMES.items():
        part = answer.part(name)
        if not part.is_right:
            off = (part.value - part.truth).abs() > 1e-9
            first = tuple(off.nonzero()[0].tolist())
            value = float(part.case.draw()[0][first])
            place = f"for {value:.4g}, scale {part.case.scale:g}, {part.case.bits} bits"
            expected = f"{what} {part.truth[first].item():.4g} {place}"
            measured = f"{part.value[first].item():.4g}; {int(off.sum())} of {off.numel()} differ"
            return TABLE.explain(part, answer, expected=expected, measured=measured, otherwise=OTHERWISE[name])
    return Verdict(PASSED, "", f"{sum(value['values'].numel() for value in values)} values and gradients right")


def _run(function: Callable[..., Any], case: RoundingCase) -> dict[str, Tensor]:
    rounded, gradient = run_rounding(function, case)
    return {"values": rounded.detach(), "gradients": gradient}


NAMES = {"values": "the value", "gradients": "the gradient"}
OTHERWISE = {
    "values": "Your values are not on the grid that is asked for. Work one out by hand: divide, round, clip, multiply.",
    "gradients": "Your values are right, the gradient is not. It is 1 in the range of the grid, and 0 outside of it.",
}
ROUNDED = "clipped + (clipped.round() - clipped).detach()"
CLIPPED = "clipped = steps.clamp(least, most)"
TABLE = ReferenceTable(
    fake_quantize,
    Misconception(
        "not_clipped",
        "You round and do not clip. So few bits have integers from -2**(bits - 1) to 2**(bits - 1) - 1 only.",
        {CLIPPED: "clipped = steps"},
    ),
    Misconception(
        "grid_symmetric",
        "You leave the lowest integer out. The grid of so many bits begins at -2**(bits - 1).",
        {"-(2 ** (bits - 1)), 2 ** (bits - 1) - 1": "1 - 2 ** (bits - 1), 2 ** (bits - 1) - 1"},
    ),
    Misconception(
        "one_integer_too_many",
        "You clip at 2**(bits - 1), which needs one bit more. The largest integer is one less.",
        {"-(2 ** (bits - 1)), 2 ** (bits - 1) - 1": "-(2 ** (bits - 1)), 2 ** (bits - 1)"},
    ),
    Misconception(
        "grid_without_sign",
        "You clip to integers from 0. The grid has a sign.",
        {"-(2 ** (bits - 1)), 2 ** (bits - 1) - 1": "0, 2**bits - 1"},
    ),
    Misconception(
        "twice_the_grid",
        "You use 2**bits integers on each side of zero. Half of them belong to each side.",
        {"-(2 ** (bits - 1)), 2 ** (bits - 1) - 1": "-(2**bits), 2**bits - 1"},
    ),
    Misconception(
        "integers_returned",
        "You return integers. Multiply them by the scale: the network sees values.",
        {"return scale * rounded": "return rounded"},
    ),
    Misconception(
        "multiplied_first",
        "You multiply by the scale where you divide. The scale is the distance of two neighbours.",
        {"steps = values / scale": "steps = values * scale", "return scale * rounded": "return rounded / scale"},
    ),
    Misconception(
        "cut_off",
        "You truncate or take the floor. Round to the nearest integer.",
        {ROUNDED: "clipped + (clipped.floor() - clipped).detach()"},
        variants=[{ROUNDED: "clipped + (clipped.trunc() - clipped).detach()"}],
    ),
    Misconception(
        "half_rounded_up",
        "You round halfway cases up. torch.round takes the even neighbour.",
        {ROUNDED: "clipped + ((clipped + 0.5).floor() - clipped).detach()"},
    ),
    Misconception(
        "no_gradient",
        "Your rounding stops the gradient: that of round() is zero everywhere. Pass it on as if nothing were rounded.",
        {ROUNDED: "clipped.round()"},
    ),
    Misconception(
        "gradient_outside_of_the_range",
        "You pass the gradient of clipped values on. They do not move the result: their gradient is zero.",
        {"return scale * rounded": "return values + (scale * rounded - values).detach()"},
    ),
    Misconception(
        "gradient_scaled",
        "You multiply or divide the gradient by the scale. Division and multiplication cancel.",
        {"return scale * rounded": "return rounded + ((scale - 1) * rounded).detach()"},
    ),
    run=_run,
    cases=rounding_cases,
    is_near=within(relative=1e-9, absolute=1e-12),
)

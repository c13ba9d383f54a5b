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
            drawn, direction = (float(tensor[first]) for tensor in part.case.draw())
            place = f"for {drawn:.6g}, scale {part.case.scale:g}, {part.case.bits} bits"
            expected = f"{what} {part.truth[first].item():.6g} {place}"
            measured = f"{part.value[first].item():.6g}; {int(off.sum())} of {off.numel()} differ"
            unit = part.case.scale if name == "values" else direction
            steps, times = f"{drawn / part.case.scale:.5g}", f"{part.value[first].item() / unit + 0.0:.4g}"
            end = 2 ** (part.case.bits - 1)
            otherwise = OTHERWISE[name].format(steps=steps, times=times, least=-end, most=end - 1)
            return TABLE.explain(part, answer, expected=expected, measured=measured, otherwise=otherwise)
    return Verdict(PASSED, "", f"{sum(value['values'].numel() for value in values)} values and gradients right")


def _run(function: Callable[..., Any], case: RoundingCase) -> dict[str, Tensor]:
    rounded, gradient = run_rounding(function, case)
    return {"values": rounded.detach(), "gradients": gradient}


NAMES = {"values": "the value", "gradients": "the gradient"}
OTHERWISE = {
    "values": "You return {times} times the scale where `values / scale` is {steps}. Take the nearest integer from "
    "{least} to {most}, halfway the even one.",
    "gradients": "You pass {times} times the gradient of the result where `values / scale` is {steps}. Pass it "
    "unchanged from {least} to {most}, both ends included, and zero elsewhere.",
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
        "integers_returned",
        "You return integers. Multiply them by the scale: the network sees values.",
        {"return scale * rounded": "return rounded"},
    ),
    Misconception(
        "cut_off",
        "You truncate or take the floor. Round to the nearest integer.",
        {ROUNDED: "clipped + (clipped.floor() - clipped).detach()"},
        variants=[{ROUNDED: "clipped + (clipped.trunc() - clipped).detach()"}],
    ),
    Misconception(
        "half_not_to_even",
        "You round halfway cases up, down, towards zero or away from it. torch.round takes the even neighbour.",
        {ROUNDED: "clipped + ((clipped + 0.5).floor() - clipped).detach()"},
        variants=[
            {ROUNDED: "clipped + ((clipped - 0.5).ceil() - clipped).detach()"},
            {ROUNDED: "clipped + (clipped.sign() * (clipped.abs() + 0.5).floor() - clipped).detach()"},
            {ROUNDED: "clipped + (clipped.sign() * (clipped.abs() - 0.5).ceil() - clipped).detach()"},
        ],
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
        "range_tested_after_rounding",
        "You test the range after rounding, as torch's own fake quantization does, so a gradient passes up to half a "
        "step beyond it. Compare `values / scale` itself.",
        {CLIPPED: "clipped = steps", ROUNDED: f"({ROUNDED}).clamp(least, most)"},
    ),
    Misconception(
        "range_without_its_ends",
        "You pass no gradient at the ends of the range, or at one of them. The contract includes both: use >= and <=.",
        {CLIPPED: "clipped = steps.where((steps > least) & (steps < most), steps.detach().clamp(least, most))"},
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

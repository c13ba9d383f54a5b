"""Judges the format that is chosen for a tensor by measuring."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from grader.judging.misconceptions import Misconception
from grader.judging.references import ReferenceTable, hard_coded
from grader.lessons.number_formats.choice import FORMAT_NAMES, ChoiceCase, choice_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

FORMATS = dict(
    zip(
        FORMAT_NAMES,
        (torch.float8_e4m3fn, torch.float8_e5m2, torch.float16, torch.bfloat16, torch.float32),
        strict=True,
    )
)


def choose_format(values: Tensor, tolerance: float) -> str | None:
    """Return the cheapest format that keeps every value within a relative error."""
    kept = values[values != 0]
    for name, dtype in FORMATS.items():
        errors = errors_of(kept, dtype)
        if errors.max() <= tolerance:
            return name
    return None


def errors_of(values: Tensor, dtype: torch.dtype) -> Tensor:
    """Return the relative error of every value; infinite where the format has no number for it."""
    rounded, exact = values.to(dtype).double(), values.double()
    relative = (rounded - exact).abs() / exact.abs()
    return relative.nan_to_num(nan=torch.inf, posinf=torch.inf)


# The parts of the reference that misconceptions edit.
KEPT = "values[values != 0]"
LOOP = "FORMATS.items()"
FIRST_LINE = "kept = values"
FITS = "errors.max() <= tolerance"
ROUNDED = "values.to(dtype).double(), values.double()"
RELATIVE = "(rounded - exact).abs() / exact.abs()"
LARGEST_FITS = "kept.abs().max() <= torch.finfo(dtype).max"
SMALLEST_FITS = "kept.abs().min() >= torch.finfo(dtype).smallest_normal"
FINE_ENOUGH = "torch.finfo(dtype).eps / 2 <= tolerance"
SCALE_POWER = "(torch.finfo(dtype).max / kept.abs().max() / 2).log2().floor()"

LOOK_AT = "Compare the largest |rounded - value| / |value|, over all values that are not zero, with the tolerance."


def judge_chosen_format(observation: Observation, seed: int) -> Verdict:
    """Compare every choice; report the first that is wrong, with what explains all of them."""
    cases, chosen = choice_cases(seed), observation.facts["chosen"]
    if not all(name is None or name in FORMATS for name in chosen):
        raise ValueError(f"a name that is none of {', '.join(FORMATS)}")
    answer = TABLE.answer(seed, chosen)
    if answer.is_right:
        measured = ", ".join(f"{case.what}: {name}" for case, name in zip(cases[:4], chosen, strict=False))
        return Verdict(PASSED, "", f"{len(cases)} tensors; {measured}")
    return TABLE.explain(
        answer,
        expected=f"{answer.truth} for {answer.case.what}, tolerance {answer.case.tolerance:.3g}",
        measured=_choice_text(answer.case, answer.value),
        otherwise=f"You choose another format for this tensor than its errors allow. {LOOK_AT}",
    )


def _choice_text(case: ChoiceCase, name: str | None) -> str:
    if name is None:
        return "no name"
    values = case.make_values()
    error = float(errors_of(values[values != 0], FORMATS[name]).max())
    return f"{name}, whose largest relative error is {error:.3g} here"


def _run(choose_format: Callable[[Tensor, float], str | None], case: ChoiceCase) -> str | None:
    return choose_format(case.make_values(), case.tolerance)


def _is_same(answer: str | None, name: str | None) -> bool:
    """Return whether a choice is a name; a loop that finds none may be followed by fp32."""
    return answer == name or (name is None and answer == "fp32")


TABLE = ReferenceTable(
    (choose_format, errors_of),
    Misconception(
        "widest_always",
        "You return fp32 for every tensor. Try the formats in the order of FORMATS, and return the first that is good "
        "enough.",
        {FIRST_LINE: 'return "fp32"\n    kept = values'},
    ),
    Misconception(
        "one_format_for_all",
        "You return one format for every tensor, but the choice depends on the values and on the tolerance. "
        "Try the formats in the order of FORMATS.",
        {FIRST_LINE: 'return "bf16"\n    kept = values'},
        variants=[{FIRST_LINE: 'return "fp16"\n    kept = values'}],
    ),
    Misconception(
        "zeros_not_left_out",
        "You divide by zeros, too: 0 / 0 is NaN, and NaN is within no tolerance. Leave values that are zero out.",
        {KEPT: "values", ".nan_to_num(nan=torch.inf, posinf=torch.inf)": ""},
    ),
    Misconception(
        "tolerance_itself_refused",
        "You refuse an error that equals the tolerance, but it is allowed. Compare with <=.",
        {FITS: "errors.max() < tolerance"},
    ),
    Misconception(
        "relative_to_the_rounded_value",
        f"You divide the error by the rounded value. {LOOK_AT}",
        {RELATIVE: "(rounded - exact).abs() / rounded.abs()"},
    ),
    Misconception(
        "clamped_first",
        "You cut values to the range of the format before you round them, so a value beyond it seems to be kept. Cast "
        "the values as they are.",
        {ROUNDED: "values.clamp(torch.finfo(dtype).min, torch.finfo(dtype).max).to(dtype).double(), values.double()"},
    ),
    Misconception(
        "scaled_first",
        "You scale the tensor before you round it. Cast the values as they are.",
        {"errors_of(kept, dtype)\n": f"errors_of(kept * 2.0 ** ({SCALE_POWER}), dtype)\n"},
    ),
    Misconception(
        "mean_error",
        "You compare the mean error, in which one lost value among many exact ones vanishes. "
        "Compare the largest error.",
        {FITS: "errors.mean() <= tolerance"},
    ),
    Misconception(
        "one_value_alone",
        "You let one value decide: the first, the largest or the most exact one. All of them have to be within the "
        "tolerance.",
        {FITS: "errors[0] <= tolerance"},
        variants=[
            {FITS: "errors[kept.abs().argmax()] <= tolerance"},
            {FITS: "errors[kept.argmax()] <= tolerance"},
            {FITS: "errors.min() <= tolerance"},
        ],
    ),
    Misconception(
        "most_exact_format",
        "You return the format with the smallest error. Return the first in FORMATS whose error is within "
        "the tolerance.",
        {FITS: "errors.max() == min(errors_of(kept, other).max() for other in FORMATS.values())"},
    ),
    Misconception(
        "in_percent",
        "You multiply the error by 100, but the tolerance is a share, not a percentage.",
        {FITS: "errors.max() * 100 <= tolerance"},
    ),
    Misconception(
        "errors_in_half",
        "You compute the errors in fp16, which rounds them and loses values beyond its range. Compute them in fp32.",
        {ROUNDED: "values.to(dtype).half(), values.half()"},
    ),
    Misconception(
        "vanished_values_left_out",
        "You leave values that became 0 out of the errors. Each has a relative error of 1.",
        {FITS: "(errors[errors != 1] <= tolerance).all()"},
        variants=[{FITS: "(errors != 1).any() and errors[errors != 1].max() <= tolerance"}],
    ),
    Misconception(
        "infinite_values_left_out",
        "You leave values that became infinite or NaN out of the errors, but they are lost.",
        {FITS: "(errors[errors.isfinite()] <= tolerance).all()"},
    ),
    Misconception(
        "sign_of_the_error",
        "You compare errors with their sign, so values that are rounded down always seem good enough. "
        "Take the absolute value of the error.",
        {RELATIVE: "(rounded - exact) / exact.abs()"},
        variants=[{RELATIVE: "(rounded - exact) / exact"}],
    ),
    Misconception(
        "negative_values_left_out",
        "You measure only values above 0. Negative values have relative errors, too.",
        {KEPT: "values[values > 0]"},
    ),
    Misconception(
        "absolute_part",
        "You add a small number such as 1e-8 to the tolerated error or to the divisor, as allclose does with atol. "
        "Values of that size may vanish then. Divide by the value alone.",
        {RELATIVE: "((rounded - exact).abs() - 1e-8) / exact.abs()"},
        variants=[{RELATIVE: "(rounded - exact).abs() / (exact.abs() + 1e-8)"}],
    ),
    Misconception(
        "absolute_error",
        f"You do not divide the error by the value. {LOOK_AT}",
        {RELATIVE: "(rounded - exact).abs()"},
    ),
    Misconception(
        "relative_to_the_largest",
        "You divide every error by the largest value, so small values may vanish. Divide each error by its own value.",
        {RELATIVE: "(rounded - exact).abs() / exact.abs().max()"},
    ),
    Misconception(
        "relative_to_the_norm",
        "You compare norms of all errors and all values, so small values may vanish. "
        "Divide each error by the value itself.",
        {RELATIVE: "(rounded - exact).norm() / exact.norm()"},
    ),
    Misconception(
        "range_alone",
        f"You look at the range of the format alone, and not at its digits. {LOOK_AT}",
        {FITS: f"{LARGEST_FITS} and {SMALLEST_FITS}"},
        variants=[{FITS: LARGEST_FITS}, {FITS: LARGEST_FITS.replace(".abs()", "")}],
    ),
    Misconception(
        "precision_alone",
        f"You look at the eps of the format alone, and not at its range. {LOOK_AT}",
        {FITS: FINE_ENOUGH},
    ),
    Misconception(
        "bound_in_place_of_error",
        "You compare a bound, such as eps / 2 or eps, where these values may be rounded better, and ends of the range. "
        f"{LOOK_AT}",
        {FITS: f"{LARGEST_FITS} and {SMALLEST_FITS} and {FINE_ENOUGH}"},
        variants=[
            {FITS: f"{LARGEST_FITS} and {FINE_ENOUGH}"},
            {FITS: f"{LARGEST_FITS} and {SMALLEST_FITS} and torch.finfo(dtype).eps <= tolerance"},
        ],
    ),
    Misconception(
        "fp8_left_out",
        "You leave out the formats of 8 bits. Try every format of FORMATS, in its order.",
        {LOOP: "list(FORMATS.items())[2:]"},
    ),
    Misconception(
        "order_changed",
        "You try formats of equal size in another order than FORMATS has. The one with more mantissa bits comes first.",
        {LOOP: "[(name, FORMATS[name]) for name in ('e5m2', 'e4m3', 'bf16', 'fp16', 'fp32')]"},
        variants=[
            {LOOP: "[(name, FORMATS[name]) for name in ('e4m3', 'e5m2', 'bf16', 'fp16', 'fp32')]"},
            {LOOP: "[(name, FORMATS[name]) for name in ('e5m2', 'e4m3', 'fp16', 'bf16', 'fp32')]"},
        ],
    ),
    hard_coded(choice_cases),
    run=_run,
    cases=choice_cases,
    is_near=_is_same,
)

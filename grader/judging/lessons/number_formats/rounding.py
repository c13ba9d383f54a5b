"""Judges rounding to even: values at every place where a rule decides."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from grader.judging.lessons.number_formats.number_text import exact_text
from grader.judging.misconceptions import Misconception
from grader.judging.references import VISIBLE_SEED, Answer, ReferenceTable
from grader.lessons.number_formats.bit_format import BF16, E5M2, FP16, BitFormat
from grader.lessons.number_formats.rounding import LESSON_VALUES, RoundingCase, rounding_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

TORCH_FORMATS = (FP16, BF16, E5M2)


def round_to_format(value: float, exponent_bits: int, mantissa_bits: int) -> float:
    """Return the number of a format that is nearest to a value: at half-way, the one with the even mantissa."""
    if value == 0 or not math.isfinite(value):
        return value
    bias = 2 ** (exponent_bits - 1) - 1
    exponent = max(math.frexp(value)[1] - 1, 1 - bias)
    spacing = 2.0 ** (exponent - mantissa_bits)
    rounded = round(value / spacing) * spacing
    return math.copysign(math.inf, value) if abs(rounded) >= 2.0 ** (bias + 1) else rounded


# The parts of the reference that misconceptions edit.
FIRST = "if value == 0"
BIAS = "bias = 2 ** (exponent_bits - 1) - 1"
POWER = "math.frexp(value)[1] - 1"
EXPONENT = f"exponent = max({POWER}, 1 - bias)"
SPACING = "spacing = 2.0 ** (exponent - mantissa_bits)"
ROUNDED = "round(value / spacing) * spacing"
INFINITY = "math.copysign(math.inf, value)"
IS_ABOVE = "abs(rounded) >= 2.0 ** (bias + 1)"
IN_RANGE = "else rounded"
LARGEST = "(2 - 2.0**-mantissa_bits) * 2.0**bias"  # the number that the edits below compare with

LOOK_AT_HALF_WAY = (
    "Half-way goes to the neighbour whose mantissa is even: 2049 becomes 2048 in fp16, and 2051 becomes 2052."
)
LOOK_AT_TOP = "Round as if the exponent had no end, then replace what is above the largest number by infinity."
LOOK_BELOW = "Below the smallest normal number all steps are 2**(1 - bias - mantissa_bits)."
LOOK_AT_STEP = "The step is 2**(exponent - mantissa_bits), where 2**exponent is the power of two at or below the value."
LOOK_AT_BIAS = "The bias is 2**(exponent_bits - 1) - 1."
OTHERWISE = f"Round the value under *expected* by hand. {LOOK_AT_STEP} Then look at the two ends of the range."

PLACES = (  # of wrong values, by a part of their kind
    ("than fp32", "below_fp32_wrong"),
    ("subnormal", "subnormals_wrong"),
    ("far below", "subnormals_wrong"),
    ("zero", "subnormals_wrong"),
    ("largest", "top_wrong"),
    ("infinity", "special_values_wrong"),
    ("NaN", "special_values_wrong"),
    ("half-way", "half_way_wrong"),
    ("", "normal_numbers_wrong"),
)


def judge_rounded_values(observation: Observation, seed: int) -> Verdict:
    """Compare every rounded value; report the first that is wrong, with what explains all of them."""
    cases = rounding_cases(seed)
    answer = TABLE.answer(seed, [_read(observation, index, case) for index, case in enumerate(cases)])
    total = sum(len(case.values) for case in cases)
    wrong = wrong_values(answer)
    if not wrong:
        names = ", ".join(str(case.bit_format) for case in cases)
        return Verdict(PASSED, "", f"{total} values in the formats {names}; in fp16 65519 is 65504, and 65520 is inf")
    case, index, value = wrong[0]
    truth = exact_text(rounded_in(case.bit_format, case.values[index]))
    return TABLE.explain(
        answer,
        expected=f"{exact_text(case.values[index])} in {case.bit_format}, {case.kinds[index]}: {truth}",
        measured=f"{exact_text(value)}; {len(wrong)} of {total} values are wrong",
        otherwise=OTHERWISE,
    )


def rounded_in(bit_format: BitFormat, value: float) -> float:
    """Return a value, rounded to a format."""
    return round_to_format(value, bit_format.exponent_bits, bit_format.mantissa_bits)


def place_of(kind: str) -> str:
    """Return the code for a kind of values that is rounded wrongly for a reason not known."""
    return next(code for part, code in PLACES if part in kind)


def wrong_values(answer: Answer) -> list[tuple[RoundingCase, int, float]]:
    """Return every wrong value: its case, its index and what was answered."""
    cases, truths = rounding_cases(answer.seed), TABLE.truths(answer.seed)
    return [
        (cases[number], index, value)
        for number in answer.wrong
        for index, (value, truth) in enumerate(zip(answer.values[number], truths[number], strict=True))
        if not TABLE.is_near(value, truth)
    ]


def _read(observation: Observation, index: int, case: RoundingCase) -> list[float]:
    values = observation.tensors[str(index)]
    if values.dtype != torch.float64 or values.shape != (len(case.values),):
        raise ValueError(f"not one float64 number for each value of {case.bit_format}")
    rounded: list[float] = values.tolist()
    return rounded


def _run(round_to_format: Callable[..., float], case: RoundingCase) -> list[float]:
    parts = (case.bit_format.exponent_bits, case.bit_format.mantissa_bits)
    return [round_to_format(value, *parts) for value in case.values]


def _is_given(answer: Answer) -> bool:
    """Return whether the values come back as they were, except those that the lesson prints."""
    return bool(answer.wrong) and all(
        value in LESSON_VALUES or TABLE.is_near(given, value)
        for case, row in zip(rounding_cases(answer.seed), answer.values, strict=True)
        for value, given in zip(case.values, row, strict=True)
    )


def _knows_formats(answer: Answer) -> bool:
    """Return whether all formats are right that the notebook shows or torch has."""
    known = {*TORCH_FORMATS, *(case.bit_format for case in rounding_cases(VISIBLE_SEED))}
    cases = rounding_cases(answer.seed)
    return bool(answer.wrong) and not any(cases[index].bit_format in known for index in answer.wrong)


def _wrong_at(code: str, diagnosis: str) -> Misconception[Answer]:
    """Return the finding that all wrong values are at one place."""
    return Misconception(
        code,
        diagnosis,
        shown_by=lambda answer: {place_of(case.kinds[index]) for case, index, _ in wrong_values(answer)} == {code},
    )


TABLE = ReferenceTable(
    round_to_format,
    Misconception(
        "not_rounded",
        "You return values as they are, except perhaps those that the lesson prints. Round each to a whole number of "
        "the format's steps.",
        shown_by=_is_given,
    ),
    Misconception(
        "one_format_for_all",
        "You round to one format, fp16 or bf16, whatever the counts of bits. Look at where your function uses "
        "`exponent_bits` and `mantissa_bits`.",
        {BIAS: f"exponent_bits, mantissa_bits = 5, 10; {BIAS}"},
        variants=[{BIAS: f"exponent_bits, mantissa_bits = 8, 7; {BIAS}"}],
    ),
    Misconception(
        "bias_too_large",
        f"You use a bias that is 1 too large, which moves both ends of the range. {LOOK_AT_BIAS}",
        {BIAS: "bias = 2 ** (exponent_bits - 1)"},
    ),
    Misconception(
        "bias_of_a_known_format",
        f"You use 15 or 127 as the bias, which is right for 5 or 8 exponent bits only. {LOOK_AT_BIAS}",
        {BIAS: "bias = 15"},
        variants=[{BIAS: "bias = 127"}],
    ),
    Misconception(
        "steps_of_one",
        f"You use the step at 1 for every value. {LOOK_AT_STEP}",
        {EXPONENT: "exponent = 0"},
    ),
    Misconception(
        "steps_in_proportion",
        "You return values within the range unrounded. If your step is a share of the value itself, the value is a "
        f"whole number of steps. {LOOK_AT_STEP}",
        {ROUNDED: "value"},
    ),
    Misconception(
        "decimal_digits",
        "You pass mantissa_bits to round(), which counts decimal digits. Mantissa bits are binary: divide by the step, "
        "round, and multiply.",
        {ROUNDED: "round(value, mantissa_bits)"},
    ),
    Misconception(
        "steps_not_undone",
        "You return a count of steps. Multiply it by the step.",
        {ROUNDED: "round(value / spacing)"},
    ),
    Misconception(
        "step_doubled",
        "Your step is twice the format's. Look at whether you subtract 1 from the exponent of frexp, whose fraction is "
        "below 1, and whether you count the 1 in front as a mantissa bit.",
        {EXPONENT: "exponent = max(math.frexp(value)[1], 2 - bias)"},
        variants=[
            {POWER: "math.frexp(value)[1]"},
            {POWER: "math.frexp(math.nextafter(abs(value), 0))[1]"},  # the logarithm, rounded up
        ],
    ),
    Misconception(
        "step_halved",
        "Your step is half of the format's. Look at whether you subtract 1 twice from the exponent of frexp, and "
        "whether you divide the step by 2, as the largest rounding error is.",
        {SPACING: f"{SPACING} / 2"},
        variants=[{POWER: "math.frexp(value)[1] - 2"}],
    ),
    Misconception(
        "logarithm_truncated",
        "You cut the logarithm with int(), which rounds towards 0 and so up for values below 1. Use math.floor.",
        {POWER: "int(math.log2(abs(value)))"},
    ),
    Misconception(
        "half_up",
        f"You round half-way away from zero, as floor(abs(x) + 0.5) does. {LOOK_AT_HALF_WAY}",
        {ROUNDED: "math.copysign(math.floor(abs(value) / spacing + 0.5), value) * spacing"},
    ),
    Misconception(
        "half_upward",
        f"You round half-way towards plus infinity, as floor(x + 0.5) does. {LOOK_AT_HALF_WAY}",
        {ROUNDED: "math.floor(value / spacing + 0.5) * spacing"},
    ),
    Misconception(
        "half_added_and_cut",
        f"You use int(x + 0.5), which turns -1.3 into 0 and rounds half-way up. {LOOK_AT_HALF_WAY}",
        {ROUNDED: "int(value / spacing + 0.5) * spacing"},
    ),
    Misconception(
        "truncated",
        "You cut off the bits that do not fit, which always rounds towards 0. Take the nearest neighbour: round().",
        {ROUNDED: "int(value / spacing) * spacing"},
    ),
    Misconception(
        "floored",
        "You take the lower neighbour, as floor() and // do. Take the nearest one: round().",
        {ROUNDED: "value // spacing * spacing"},
    ),
    Misconception(
        "subnormals_flushed",
        f"You return 0 for subnormal numbers, but they are numbers of the format. {LOOK_BELOW}",
        {IN_RANGE: f"{IN_RANGE} if abs(value) >= 2.0 ** (1 - bias) else 0.0"},
        variants=[{IN_RANGE: f"{IN_RANGE} if abs(rounded) >= 2.0 ** (1 - bias) else 0.0"}],
    ),
    Misconception(
        "subnormals_without_end",
        f"You make the steps smaller and smaller below the smallest normal number. {LOOK_BELOW}",
        {EXPONENT: f"exponent = max({POWER}, mantissa_bits - 1074)"},  # the smallest step of a float
    ),
    Misconception(
        "lowest_exponent_too_low",
        f"You let the exponent go down to -bias, but the lowest one is 1 - bias. {LOOK_BELOW}",
        {EXPONENT: f"exponent = max({POWER}, -bias)"},
    ),
    Misconception(
        "smallest_is_the_limit",
        "You return 0 below the smallest subnormal number, but what is above half of it rounds up to it.",
        {IN_RANGE: f"{IN_RANGE} if abs(value) >= 2.0 ** (1 - bias - mantissa_bits) else 0.0"},
    ),
    Misconception(
        "never_infinite",
        f"You return finite values above the largest number of the format. {LOOK_AT_TOP}",
        {IS_ABOVE: "False"},
    ),
    Misconception(
        "saturated",
        f"You cut values above the range to the largest number, but they overflow to infinity. {LOOK_AT_TOP}",
        {INFINITY: f"math.copysign({LARGEST}, value)"},
    ),
    Misconception(
        "largest_is_the_limit",
        "You return infinity for every value above the largest number, but one that is less than half a step above "
        f"rounds to it. {LOOK_AT_TOP}",
        {IS_ABOVE: f"abs(value) > {LARGEST}"},
    ),
    Misconception(
        "half_way_above_largest_kept",
        "You keep the value half a step above the largest number finite. The largest number has an odd mantissa, so "
        f"that value rounds up. {LOOK_AT_TOP}",
        {IS_ABOVE: f"abs(value) > {LARGEST} + 2.0 ** (bias - mantissa_bits - 1)"},
    ),
    Misconception(
        "carry_not_seen",
        "You compare the value with 2**(bias + 1) before you round it, but rounding up can reach that limit. "
        f"{LOOK_AT_TOP}",
        {IS_ABOVE: "abs(value) >= 2.0 ** (bias + 1)"},
    ),
    Misconception(
        "published_maximum",
        "You end the range at the largest integer with as many bits, as in the published 65535. The largest number "
        "of fp16 is 65504, and 65520 overflows already.",
        {IS_ABOVE: "abs(value) > 2.0 ** (bias + 1) - 1"},
        variants=[
            {
                IS_ABOVE: "abs(value) > 2.0 ** (bias + 1) - 1",
                IN_RANGE: f"else math.copysign(min({LARGEST}, abs(rounded)), value)",
            },
            {IS_ABOVE: "abs(value) > 65535"},
        ],
    ),
    Misconception(
        "limit_of_fp16",
        "You end every format's range at 65504 or 65520, which are numbers of fp16. Compute the largest number from "
        "the counts of bits.",
        {IS_ABOVE: "abs(rounded) > 65504"},
        variants=[{IS_ABOVE: "abs(value) >= 65520"}],
    ),
    Misconception(
        "negative_overflow_kept",
        "You compare the value, not its magnitude, with the largest number: try -1e6 in fp16.",
        {IS_ABOVE: "rounded >= 2.0 ** (bias + 1)"},
    ),
    Misconception(
        "top_exponent_used",
        "You use the top exponent for numbers, but it means infinities and NaN. The largest number is "
        "(2 - 2**-mantissa_bits) * 2**bias.",
        {IS_ABOVE: "abs(rounded) >= 2.0 ** (bias + 2)"},
    ),
    Misconception(
        "rounded_twice",
        "You round to fp32 first and then to the format, and the first rounding can produce a half-way value. Compute "
        "in float64, as Python's floats do.",
        {FIRST: f"value = torch.tensor(value).item()\n    {FIRST}"},
    ),
    Misconception(
        "negative_values_kept",
        "You return negative values as they are. Look at the comparison that lets them through.",
        {FIRST: "if value <= 0"},
    ),
    Misconception(
        "sign_lost",
        "You lose the sign of negative values. Look at what follows after you take abs().",
        {FIRST: f"value = abs(value)\n    {FIRST}"},
        variants=[{ROUNDED: "round(abs(value) / spacing) * spacing"}],
    ),
    Misconception(
        "sign_lost_at_infinity",
        "You return plus infinity for negative values beyond the range. Use the sign of the value.",
        {INFINITY: "math.inf"},
    ),
    Misconception(
        "known_formats_only",
        "You round right only to formats that you have seen. Compute the bias and the steps from the counts of bits.",
        shown_by=_knows_formats,
    ),
    _wrong_at("half_way_wrong", f"You round only half-way values wrongly. {LOOK_AT_HALF_WAY}"),
    _wrong_at("subnormals_wrong", f"You round only values below the smallest normal number wrongly. {LOOK_BELOW}"),
    _wrong_at("top_wrong", f"You round only values near the end of the range wrongly. {LOOK_AT_TOP}"),
    _wrong_at("special_values_wrong", "You change infinity or NaN. Return both as they are, before any arithmetic."),
    _wrong_at(
        "below_fp32_wrong",
        "You round wrongly only what fp32 cannot tell from half-way. Look at the precision that your function "
        "computes in.",
    ),
    _wrong_at("normal_numbers_wrong", f"You round some normal numbers wrongly, and all else right. {LOOK_AT_STEP}"),
    run=_run,
    cases=rounding_cases,
)

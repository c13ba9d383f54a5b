"""Judges the predicted range and spacing of a format."""

from __future__ import annotations

import math
from collections.abc import Callable

from grader.judging.lessons.number_formats.number_text import number_text
from grader.judging.misconceptions import Misconception
from grader.judging.nearness import is_near, within
from grader.judging.references import Answer, ReferenceTable, hard_coded
from grader.lessons.number_formats.limits import LIMITS, LimitsCase, limits_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

TOLERANCE = 1e-9  # all of it is powers of two; a logarithm's rounding may stay

Limits = dict[str, float]


def limits_of(exponent_bits: int, mantissa_bits: int, number: float) -> Limits:
    """Return the range of a format, and its spacing at a number."""
    bias = 2 ** (exponent_bits - 1) - 1
    power = math.frexp(number)[1] - 1  # of the largest power of two that is at most `number`
    exponent = max(power, 1 - bias)
    return {
        "largest": (2 - 2.0**-mantissa_bits) * 2.0**bias,
        "smallest_normal": 2.0 ** (1 - bias),
        "smallest_subnormal": 2.0 ** (1 - bias - mantissa_bits),
        "spacing": 2.0 ** (exponent - mantissa_bits),
    }


# The parts of the reference that misconceptions edit.
BIAS = "bias = 2 ** (exponent_bits - 1) - 1"
POWER = "math.frexp(number)[1] - 1"
EXPONENT = "max(power, 1 - bias)"
LARGEST = "(2 - 2.0**-mantissa_bits) * 2.0**bias"
NORMAL = "2.0 ** (1 - bias)"
SUBNORMAL = "2.0 ** (1 - bias - mantissa_bits)"
SPACING = "2.0 ** (exponent - mantissa_bits)"

KNOWN_FORMATS = tuple(  # fp32, tf32, fp16, bf16, e5m2, and the small format of the lesson
    limits_of(*bits, 1.0) for bits in ((8, 23), (8, 10), (5, 10), (8, 7), (5, 2), (2, 1))
)
OTHERWISE = {
    "largest": "The largest number has the stored exponent below the top one and a mantissa of ones. Look at the power "
    "of two that you give it.",
    "smallest_normal": "The smallest normal number has stored exponent 1 and mantissa 0. "
    "Look at the power of two that you give it.",
    "smallest_subnormal": "The smallest subnormal number has only its last mantissa bit set. "
    "Its power of two is that of stored exponent 1.",
    "spacing": "There are 2**mantissa_bits steps from the power of two at or below the number to the next one. "
    "Compare a number above 1, one below 1 and a subnormal one.",
}
BELOW_NORMAL = "Below the smallest normal number the steps stay as large as they are just above it."


def judge_format_limits(observation: Observation, seed: int) -> Verdict:
    """Compare the four limits of every format; report the first that differs, with what explains all of its kind."""
    answers: list[Limits] = [{key: given[key] for key in LIMITS} for given in observation.facts["answers"]]
    answer = TABLE.answer(seed, answers)
    for key in LIMITS:
        part = answer.part(key)
        if part.is_right:
            continue
        case: LimitsCase = part.case
        at = f" at {number_text(case.number)}, {case.what}" if key == "spacing" else ""
        expected = f'"{key}" of {case.bit_format}{at}: {number_text(part.truth)}'
        measured = f"{number_text(part.value)}, {part.value / part.truth:.7g} times that"
        return TABLE.explain(answer, part, expected=expected, measured=measured, otherwise=OTHERWISE[key])
    formats = ", ".join(str(case.bit_format) for case in limits_cases(seed))
    return Verdict(PASSED, "", f"{len(LIMITS) * len(answers)} limits right, of the formats {formats}")


def _run(limits: Callable[..., Limits], case: LimitsCase) -> Limits:
    return limits(case.bit_format.exponent_bits, case.bit_format.mantissa_bits, case.number)


def _are_known(answer: Answer) -> bool:
    """Return whether every value of one limit is that of a format that the lesson or torch names."""
    if answer.key is None:
        return False  # the spacing depends on the number, so the limits are looked at one by one
    known = [answer.part_of(limits) for limits in KNOWN_FORMATS]
    return all(any(is_near(answer.part_of(value), limit, relative=1e-5) for limit in known) for value in answer.values)


TABLE = ReferenceTable(
    limits_of,
    Misconception(
        "normal_and_subnormal_exchanged",
        "You exchange the two lower ends. Normal numbers have a 1 in front of the fraction, so subnormal ones are "
        "smaller.",
        {NORMAL: SUBNORMAL, SUBNORMAL: NORMAL},
    ),
    Misconception(
        "mantissa_of_the_exponent_bits",
        "You use the exponent bits as the mantissa bits, too. Look at which of the two arguments each power uses.",
        {BIAS: f"{BIAS}; mantissa_bits = exponent_bits"},
    ),
    Misconception(
        "biases_of_known_formats",
        "You use the bias of fp16 (15) or of fp32 and bf16 (127), but these formats have other counts of exponent "
        "bits. Compute the bias: 2**(exponent_bits - 1) - 1.",
        {BIAS: "bias = 15"},
        variants=[
            {BIAS: "bias = 127"},
            {BIAS: "bias = 15 if exponent_bits == 5 else 127"},
            {NORMAL: "2.0 ** (1 - 15)", SUBNORMAL: "2.0 ** (1 - 15 - mantissa_bits)"},
            {NORMAL: "2.0 ** (1 - 127)", SUBNORMAL: "2.0 ** (1 - 127 - mantissa_bits)"},
        ],
    ),
    Misconception(
        "xor_for_power",
        "You write ^ for a power. In Python ^ compares the bits of two integers; a power is written **.",
        {BIAS: "bias = 2 ^ (exponent_bits - 1) - 1"},
    ),
    Misconception(
        "bias_too_large",
        "You use 2**(exponent_bits - 1) as the bias, which is 1 too large. Subtract 1: the stored exponents 1 to "
        "2 * bias hold numbers.",
        {BIAS: "bias = 2 ** (exponent_bits - 1)", LARGEST: "(2 - 2.0**-mantissa_bits) * 2.0 ** (bias - 2)"},
        variants=[{BIAS: "bias = 2 ** (exponent_bits - 1)"}],
    ),
    Misconception(
        "mantissa_one_bit_longer",
        "You count the 1 in front of the fraction as a mantissa bit. It is not stored, so mantissa_bits leaves it out.",
        {BIAS: f"{BIAS}; mantissa_bits += 1"},
    ),
    Misconception(
        "top_exponent_used",
        "You use the top exponent for numbers, but it means infinities and NaN. "
        "The largest number has the exponent below it.",
        {LARGEST: f"2 * {LARGEST}"},
    ),
    Misconception(
        "power_alone",
        "You leave the mantissa of the largest number at 0. With all mantissa bits set, its fraction is almost 2.",
        {LARGEST: "2.0**bias"},
    ),
    Misconception(
        "range_of_an_integer",
        "You return the range of an integer, whose steps are 1 everywhere. "
        "The largest number of a format is its largest fraction times its largest power of two.",
        {LARGEST: "2.0 ** (bias + 1) - 1"},
        variants=[
            {LARGEST: "2.0 ** (1 + exponent_bits + mantissa_bits) - 1"},
            {LARGEST: "2.0 ** (exponent_bits + mantissa_bits) - 1"},
        ],
    ),
    Misconception(
        "one_step_too_far",
        "You return 2**(bias + 1), which has the top exponent and is not a number of the format. "
        "The largest number is one step below it.",
        {LARGEST: "2.0 ** (bias + 1)"},
    ),
    Misconception(
        "exponent_below_the_top_left_out",
        "You go two exponents below the top one. The top exponent, 2**exponent_bits - 1, holds no number, "
        "but the exponent below it does.",
        {LARGEST: f"{LARGEST} / 2"},
    ),
    Misconception(
        "largest_as_in_e4m3",
        "You use the top exponent for numbers, as only e4m3 does. In these formats it means infinities and NaN.",
        {LARGEST: "(2 - 2.0 ** (1 - mantissa_bits)) * 2.0 ** (bias + 1)"},
    ),
    Misconception(
        "exponent_zero_is_normal",
        "You count stored exponent 0 as normal, but its numbers are subnormal. Normal numbers begin at stored "
        "exponent 1.",
        {NORMAL: "2.0**-bias"},
    ),
    Misconception(
        "subnormal_for_normal",
        "You return the smallest subnormal number as the smallest normal one. A normal number has a 1 in front of its "
        "fraction.",
        {NORMAL: SUBNORMAL},
    ),
    Misconception(
        "one_over_largest",
        "You take the inverse of the largest number, but the range is not symmetric around 1. "
        "The smallest normal number has stored exponent 1.",
        {NORMAL: f"1 / ({LARGEST})"},
    ),
    Misconception(
        "zero_for_smallest",
        "You return 0, but the smallest positive number is asked for. If you divide with //, the quotient is cut to 0.",
        {NORMAL: "0.0"},
        variants=[{SUBNORMAL: "0.0"}],
    ),
    Misconception(
        "spacing_of_one_for_smallest",
        "You return the spacing at 1 (epsilon), which says how fine the format is there. "
        "How far the range reaches down depends on the exponent bits.",
        {NORMAL: "2.0**-mantissa_bits"},
        variants=[{SUBNORMAL: "2.0**-mantissa_bits"}],
    ),
    Misconception(
        "no_subnormals",
        "You end the range at the smallest normal number. Stored exponent 0 has smaller numbers, without a 1 in front "
        "of the fraction.",
        {SUBNORMAL: "2.0 ** (1 - bias)"},
    ),
    Misconception(
        "exponent_zero_less_bias",
        "You give subnormal numbers the power of two 0 - bias. Stored exponent 0 has that of exponent 1: 1 - bias.",
        {SUBNORMAL: "2.0 ** (-bias - mantissa_bits)"},
    ),
    Misconception(
        "implicit_one_kept",
        "You keep the 1 in front of the fraction of the smallest subnormal number. Stored exponent 0 has a 0 there.",
        {SUBNORMAL: "(1 + 2.0**-mantissa_bits) * 2.0 ** (1 - bias)"},
        variants=[{SUBNORMAL: "(1 + 2.0**-mantissa_bits) * 2.0**-bias"}],
    ),
    Misconception(
        "spacing_of_one",
        "You return the spacing at 1 for every number. It doubles at each power of two above 1, and halves below.",
        {SPACING: "2.0**-mantissa_bits"},
    ),
    Misconception(
        "spacing_in_proportion",
        "You let the spacing grow with the number itself. Between two powers of two all steps are equal.",
        {SPACING: "number * 2.0**-mantissa_bits"},
    ),
    Misconception(
        "half_spacing",
        "You return half of the step, which is the largest rounding error. The spacing is the whole step between two "
        "neighbours.",
        {SPACING: f"{SPACING} / 2"},
        variants=[{SPACING: "2.0 ** (power - mantissa_bits - 1)"}],
    ),
    Misconception(
        "spacing_of_the_float",
        "You return the spacing of the float that holds the number. The format has its own count of mantissa bits.",
        {SPACING: "math.ulp(number)"},
        variants=[{SPACING: "2.0 ** (power - 23)"}],
    ),
    Misconception(
        "subnormals_without_end",
        f"You make the steps smaller and smaller among the subnormal numbers. {BELOW_NORMAL}",
        {EXPONENT: "power"},
    ),
    Misconception(
        "spacing_floor_too_low",
        f"You keep the steps constant only below 2**-bias. {BELOW_NORMAL} That is 2**(1 - bias).",
        {EXPONENT: "max(power, -bias)"},
    ),
    Misconception(
        "smallest_normal_among_subnormals",
        "You return the smallest normal number as the spacing among the subnormal ones. "
        "There are 2**mantissa_bits steps from 0 to it.",
        {SPACING: f"{SPACING} if power >= 1 - bias else 2.0 ** (1 - bias)"},
    ),
    Misconception(
        "logarithm_rounded_up",
        "You round the logarithm of the number up. Round it down: the power of two at or below the number decides.",
        {POWER: "math.ceil(math.log2(number))"},
        variants=[{POWER: "math.frexp(number)[1]"}],
    ),
    Misconception(
        "spacing_downwards",
        "You return the step downwards from a power of two. The step upwards is asked for, which is twice as large.",
        {POWER: "math.ceil(math.log2(number)) - 1"},
    ),
    Misconception(
        "logarithm_rounded",
        "You round the logarithm of the number to the nearest integer. Round it down: the power of two at or below the "
        "number decides.",
        {POWER: "round(math.log2(number))"},
    ),
    Misconception(
        "logarithm_truncated",
        "You cut the logarithm with int(), which rounds towards 0 and so up below 1. Use math.floor.",
        {POWER: "int(math.log2(number))"},
    ),
    Misconception(
        "natural_logarithm",
        "You use math.log, whose base is e. The spacing changes at powers of two, so use math.log2.",
        {POWER: "math.floor(math.log(number))"},
    ),
    Misconception(
        "limits_of_known_formats",
        "You return limits of formats that the lesson or torch names, whatever the counts of bits. "
        "Compute them from `exponent_bits` and `mantissa_bits`.",
        shown_by=_are_known,
    ),
    hard_coded(limits_cases),
    run=_run,
    cases=limits_cases,
    is_near=within(relative=TOLERANCE),
)

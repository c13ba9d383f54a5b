"""Judges decoded bit patterns: every pattern of six formats."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache

import torch
from torch import Tensor

from grader.judging.lessons.number_formats.number_text import number_text
from grader.judging.misconceptions import Misconception
from grader.judging.references import VISIBLE_SEED, Answer, ReferenceTable
from grader.lessons.number_formats.bit_format import BF16, E4M3, E5M2, FP16, BitFormat
from grader.lessons.number_formats.decoding import decoding_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

TORCH_DTYPES = {
    FP16: (torch.int16, torch.float16),
    BF16: (torch.int16, torch.bfloat16),
    E5M2: (torch.uint8, torch.float8_e5m2),
    E4M3: (torch.uint8, torch.float8_e4m3fn),
}
AT_ZERO, AT_TOP, BETWEEN = "at exponent 0", "at the top exponent", "between"


def decode(bits: int, exponent_bits: int, mantissa_bits: int, has_infinity: bool) -> float:
    """Return the number that a bit pattern represents, an infinity or NaN."""
    sign = -1.0 if bits >> (exponent_bits + mantissa_bits) else 1.0
    exponent: int = (bits >> mantissa_bits) % 2**exponent_bits
    mantissa = bits % 2**mantissa_bits
    is_top = exponent == 2**exponent_bits - 1
    is_ones = mantissa == 2**mantissa_bits - 1
    bias: int = 2 ** (exponent_bits - 1) - 1
    fraction: float = mantissa / 2**mantissa_bits
    if exponent == 0:
        return sign * fraction * 2.0 ** (1 - bias)
    if is_top and has_infinity:
        return sign * math.inf if mantissa == 0 else math.nan
    if is_top and is_ones:
        return math.nan
    return sign * (1 + fraction) * 2.0 ** (exponent - bias)


# The parts of the reference that misconceptions edit.
FIRST_LINE = "sign = -1.0 if"
BIAS = "bias: int = 2 ** (exponent_bits - 1) - 1"
FRACTION = "fraction: float = mantissa / 2**mantissa_bits"
BELOW = "if exponent == 0:"
SUBNORMAL = "return sign * fraction * 2.0 ** (1 - bias)"
TOP = "if is_top and has_infinity:"
SPECIAL = "return sign * math.inf if mantissa == 0 else math.nan"
FINITE_NAN = "if is_top and is_ones:"
NORMAL = "return sign * (1 + fraction) * 2.0 ** (exponent - bias)"
UNSIGNED = {
    SUBNORMAL: "return fraction * 2.0 ** (1 - bias)",
    NORMAL: "return (1 + fraction) * 2.0 ** (exponent - bias)",
}
NO_SPECIAL = {BELOW: "if False:", TOP: "if False:", FINITE_NAN: "if False and is_ones:"}

LOOK_BELOW = "At exponent 0 the value is fraction * 2**(1 - bias), with no 1 added to the fraction."
LOOK_AT_TOP = "With `has_infinity`, the top exponent means infinity for mantissa 0 and NaN for any other mantissa."
LOOK_AT_FINITE = "Without `has_infinity`, the top exponent holds numbers, and only the mantissa of ones is NaN."
LOOK_AT_BIAS = "The bias is 2**(exponent_bits - 1) - 1."
LOOK_AT_FRACTION = "The fraction is mantissa / 2**mantissa_bits, from 0 to just below 1."
OTHERWISE = "Decode the pattern under *expected* by hand: its sign, its exponent less the bias, its fraction."


@cache
def truth_of(bit_format: BitFormat) -> Tensor:
    """Return what every pattern represents: torch's own answer where torch has the format."""
    if bit_format not in TORCH_DTYPES:
        return _decoded(decode, bit_format, range(bit_format.pattern_count))
    integers, floats = TORCH_DTYPES[bit_format]
    return torch.arange(bit_format.pattern_count).to(integers).view(floats).double()


@cache
def sampled_patterns(bit_format: BitFormat) -> list[int]:
    """Return the patterns by which an answer is explained: some mantissas of every sign and exponent."""
    count = 2**bit_format.mantissa_bits
    middle = (3, count // 2 - 1, count // 2, count - 4)
    mantissas = sorted({0, 1, 2, *middle, count - 3, count - 2, count - 1} & set(range(count)))
    return [start + mantissa for start in range(0, bit_format.pattern_count, count) for mantissa in mantissas]


def judge_decoded_patterns(observation: Observation, seed: int) -> Verdict:
    """Compare every pattern of every format, bit for bit; report the first format with a wrong one."""
    formats = decoding_cases(seed)
    values = [_read(observation, index, bit_format) for index, bit_format in enumerate(formats)]
    for bit_format, given in zip(formats, values, strict=True):
        truth = truth_of(bit_format)
        wrong = (~_same(given, truth)).nonzero().flatten().tolist()
        if wrong:
            sampled = [one[sampled_patterns(name)] for name, one in zip(formats, values, strict=True)]
            first = next((pattern for pattern in wrong if truth[pattern]), wrong[0])
            return TABLE.explain(
                TABLE.answer(seed, sampled),
                expected=f"{bit_format} {_pattern_text(first, bit_format)}: {number_text(float(truth[first]))}",
                measured=f"{number_text(float(given[first]))}; {_count_text(wrong, bit_format)}",
                otherwise=OTHERWISE,
            )
    count = sum(bit_format.pattern_count for bit_format in formats)
    return Verdict(PASSED, "", f"{count:,} bit patterns, all of the formats {', '.join(map(str, formats))}")


def _read(observation: Observation, index: int, bit_format: BitFormat) -> Tensor:
    values = observation.tensors[str(index)]
    if values.dtype != torch.float64 or values.shape != (bit_format.pattern_count,):
        raise ValueError(f"not one float64 number for each pattern of {bit_format}")
    return values


def _same(one: Tensor, other: Tensor) -> Tensor:
    """Return whether values are equal: NaN equals NaN, and the sign of a zero counts."""
    is_equal = (one == other) & (torch.signbit(one) == torch.signbit(other))
    return is_equal | (one.isnan() & other.isnan())


def _decoded(decode: Callable[..., float], bit_format: BitFormat, patterns: Iterable[int]) -> Tensor:
    parts = (bit_format.exponent_bits, bit_format.mantissa_bits, bit_format.has_infinity)
    return torch.tensor([decode(bits, *parts) for bits in patterns], dtype=torch.float64)


def _place(pattern: int, bit_format: BitFormat) -> str:
    exponent = (pattern >> bit_format.mantissa_bits) % 2**bit_format.exponent_bits
    return {0: AT_ZERO, 2**bit_format.exponent_bits - 1: AT_TOP}.get(exponent, BETWEEN)


def _pattern_text(pattern: int, bit_format: BitFormat) -> str:
    """Return a bit pattern with gaps between sign, exponent and mantissa."""
    end = 1 + bit_format.exponent_bits
    bits = f"{pattern:0{end + bit_format.mantissa_bits}b}"
    return f"{bits[0]} {bits[1:end]} {bits[end:]}"


def _count_text(wrong: Sequence[int], bit_format: BitFormat) -> str:
    counts = Counter(_place(pattern, bit_format) for pattern in wrong)
    places = ", ".join(f"{counts[place]:,} {place}" for place in (AT_ZERO, AT_TOP, BETWEEN))
    return f"{len(wrong):,} of {bit_format.pattern_count:,} patterns of {bit_format} are wrong: {places}"


def _is_wrong_only(place: str) -> Callable[[Answer], bool]:
    """Return a predicate: whether all wrong patterns are in one place."""

    def is_wrong_only(answer: Answer) -> bool:
        formats, truths = decoding_cases(answer.seed), TABLE.truths(answer.seed)
        return bool(answer.wrong) and all(
            is_same or _place(pattern, formats[index]) == place
            for index in answer.wrong
            for pattern, is_same in zip(
                sampled_patterns(formats[index]), _same(answer.values[index], truths[index]), strict=True
            )
        )

    return is_wrong_only


def _knows_formats(answer: Answer) -> bool:
    """Return whether all formats are right that the notebook shows or torch has."""
    shown = () if answer.seed == VISIBLE_SEED else decoding_cases(VISIBLE_SEED)
    formats = decoding_cases(answer.seed)
    return bool(answer.wrong) and not any(formats[index] in (*TORCH_DTYPES, *shown) for index in answer.wrong)


TABLE = ReferenceTable(
    decode,
    Misconception(
        "not_decoded",
        "You return the pattern as an integer. Cut it into sign, exponent and mantissa, and compute the number.",
        {FIRST_LINE: f"return float(bits)\n    {FIRST_LINE}"},
    ),
    Misconception(
        "every_pattern_ordinary",
        f"You use the formula of normal numbers for every exponent. {LOOK_BELOW} {LOOK_AT_TOP}",
        NO_SPECIAL,
        variants=[NO_SPECIAL | {BELOW: "if exponent == mantissa == 0:"}],
    ),
    Misconception(
        "formula_of_the_example",
        "You use the formula of the fp16 example for every pattern, with its bias of 15. Compute the bias from "
        "`exponent_bits`, and treat exponent 0 and the top exponent separately.",
        NO_SPECIAL | {BIAS: "bias = 15"},
        variants=[NO_SPECIAL | {BIAS: "bias = 15", FRACTION: "fraction = mantissa / 1024"}],
    ),
    Misconception(
        "numbers_of_the_example",
        "You use numbers of fp16 for every format: 15 for the bias, or 1024 for the count of mantissas. Compute them "
        "from `exponent_bits` and `mantissa_bits`.",
        {BIAS: "bias = 15", FRACTION: "fraction = mantissa / 1024"},
        variants=[{BIAS: "bias = 15"}, {FRACTION: "fraction = mantissa / 1024"}],
    ),
    Misconception(
        "subnormals_with_one",
        f"You add 1 to the fraction at exponent 0, too. {LOOK_BELOW}",
        {BELOW: "if False:"},
        variants=[{BELOW: "if exponent == mantissa == 0:"}, {SUBNORMAL: f"{SUBNORMAL} + sign * 2.0 ** (1 - bias)"}],
    ),
    Misconception(
        "subnormals_half",
        f"You use the power 0 - bias at exponent 0, which halves the subnormal numbers. {LOOK_BELOW}",
        {SUBNORMAL: "return sign * fraction * 2.0**-bias"},
    ),
    Misconception(
        "subnormals_flushed",
        f"You return 0 for every pattern of exponent 0, but only mantissa 0 is zero. {LOOK_BELOW}",
        {SUBNORMAL: "return sign * 0.0"},
        variants=[{SUBNORMAL: "return 0.0"}],
    ),
    Misconception(
        "top_is_ordinary",
        f"You decode the top exponent as numbers where it means infinity and NaN. {LOOK_AT_TOP}",
        {TOP: "if False:", FINITE_NAN: "if is_top and is_ones and not has_infinity:"},
        variants=[{TOP: "if False:", FINITE_NAN: "if False and is_ones:"}],
    ),
    Misconception(
        "top_is_infinite",
        f"You return infinity for the NaN patterns, too. {LOOK_AT_TOP}",
        {SPECIAL: "return sign * math.inf"},
        variants=[{SPECIAL: "return sign * math.inf", TOP: "if is_top:"}],
    ),
    Misconception(
        "top_has_one_nan",
        f"You let only the mantissa of ones be NaN in formats with infinity, too. {LOOK_AT_TOP}",
        {TOP: "if is_top and has_infinity and mantissa == 0:"},
    ),
    Misconception(
        "ieee_assumed",
        f"You return infinity or NaN for every top exponent. {LOOK_AT_FINITE} The largest number of e4m3 is 448.",
        {TOP: "if is_top:"},
    ),
    Misconception(
        "flag_reversed",
        f"You read `has_infinity` as its opposite. {LOOK_AT_TOP} {LOOK_AT_FINITE}",
        {TOP: "if is_top and not has_infinity:"},
    ),
    Misconception(
        "no_nan",
        f"You return a number for the one NaN of formats without infinity. {LOOK_AT_FINITE}",
        {FINITE_NAN: "if False and is_ones:"},
    ),
    Misconception(
        "finite_nan_at_mantissa_zero",
        f"You put NaN at mantissa 0, where other formats have infinity. {LOOK_AT_FINITE}",
        {FINITE_NAN: "if is_top and mantissa == 0:"},
    ),
    Misconception(
        "bias_too_large",
        f"You use a bias that is 1 too large. {LOOK_AT_BIAS}",
        {BIAS: "bias = 2 ** (exponent_bits - 1)"},
    ),
    Misconception(
        "bias_forgotten",
        "You use the stored exponent as the power of two. Subtract the bias, or no number is below 1.",
        {BIAS: "bias = 0"},
    ),
    Misconception(
        "bias_added",
        "You add the bias to the stored exponent of normal numbers. Subtract it.",
        {NORMAL: "return sign * (1 + fraction) * 2.0 ** (exponent + bias)"},
    ),
    Misconception(
        "bias_of_fp32",
        f"You use 127 as the bias, which is right for 8 exponent bits only. {LOOK_AT_BIAS}",
        {BIAS: "bias = 127"},
    ),
    Misconception(
        "mantissa_not_divided",
        f"You use the stored mantissa as the fraction. {LOOK_AT_FRACTION}",
        {FRACTION: "fraction = mantissa"},
    ),
    Misconception(
        "mantissa_divided_to_a_whole",
        f"You divide the mantissa with //, which cuts every fraction to 0. {LOOK_AT_FRACTION}",
        {FRACTION: "fraction = mantissa // 2**mantissa_bits"},
    ),
    Misconception(
        "mantissa_over_its_largest",
        f"You divide by the largest mantissa, so your fraction reaches 1. {LOOK_AT_FRACTION}",
        {FRACTION: "fraction = mantissa / (2**mantissa_bits - 1)"},
    ),
    Misconception(
        "no_one_in_front",
        "You leave out the 1 in front of the fraction of normal numbers. Add it.",
        {NORMAL: "return sign * fraction * 2.0 ** (exponent - bias)"},
    ),
    Misconception(
        "one_not_in_brackets",
        "You multiply only the fraction by the power of two. Put 1 + fraction in brackets.",
        {NORMAL: "return sign * 1 + fraction * 2.0 ** (exponent - bias)"},
        variants=[{NORMAL: "return sign * (1 + fraction * 2.0 ** (exponent - bias))"}],
    ),
    Misconception(
        "sign_lost",
        "You ignore the sign bit. Multiply every result by `sign`.",
        UNSIGNED | {SPECIAL: "return math.inf if mantissa == 0 else math.nan"},
    ),
    Misconception(
        "sign_lost_at_infinity",
        "You return plus infinity for minus infinity. Use `sign` there, too.",
        {SPECIAL: "return math.inf if mantissa == 0 else math.nan"},
    ),
    Misconception(
        "sign_lost_at_zero",
        "You return 0 for -0.0, the pattern of the sign bit alone. An integer 0 has no sign: return sign * 0.0.",
        {BELOW: f"if exponent == mantissa == 0:\n        return 0.0\n    {BELOW}"},
    ),
    Misconception(
        "sign_lost_in_a_branch",
        "You lose the sign of finite numbers in one branch or more. Look at where `sign` is used at exponent 0 and for "
        "normal numbers.",
        UNSIGNED,
        variants=[{text: unsigned} for text, unsigned in UNSIGNED.items()],
    ),
    Misconception(
        "known_formats_only",
        "You decode formats that you have seen, and no others. Compute the value from the counts of bits.",
        shown_by=_knows_formats,
    ),
    Misconception(
        "top_exponent_wrong",
        f"You decode only the top exponent wrongly. {LOOK_AT_TOP} {LOOK_AT_FINITE}",
        shown_by=_is_wrong_only(AT_TOP),
    ),
    Misconception(
        "exponent_zero_wrong", f"You decode only exponent 0 wrongly. {LOOK_BELOW}", shown_by=_is_wrong_only(AT_ZERO)
    ),
    Misconception(
        "normal_numbers_wrong",
        "You decode only the exponents between 0 and the top one wrongly. They hold (1 + fraction) * "
        "2**(exponent - bias).",
        shown_by=_is_wrong_only(BETWEEN),
    ),
    run=lambda decode, bit_format: _decoded(decode, bit_format, sampled_patterns(bit_format)),
    cases=decoding_cases,
    is_near=lambda answer, value: bool(_same(answer, value).all()),
)

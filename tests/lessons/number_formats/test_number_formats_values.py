"""The judges of limits, patterns and rounded values agree with torch, NumPy and exact arithmetic."""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction

import pytest
import torch

from grader.judging.lessons.number_formats import decoding, limits, rounding
from grader.judging.lessons.number_formats.decoding import judge_decoded_patterns, truth_of
from grader.judging.lessons.number_formats.rounding import judge_rounded_values, rounded_in
from grader.lessons.number_formats.bit_format import BF16, E4M3, E5M2, FP16, BitFormat
from grader.lessons.number_formats.decoding import decoding_cases
from grader.lessons.number_formats.limits import LIMITS, limits_cases
from grader.lessons.number_formats.rounding import rounding_cases
from grader.observation import Observation, decode_observation, encode_observation
from grader.verdict import UNRECOGNISED

FP32 = BitFormat(8, 23)
DTYPES = {FP16: torch.float16, BF16: torch.bfloat16, E5M2: torch.float8_e5m2, FP32: torch.float32}


def observe(tensors) -> Observation:
    """Observe one tensor for each case, and send it as a class does."""
    named = {str(index): tensor for index, tensor in enumerate(tensors)}
    return decode_observation(encode_observation(Observation(tensors=named)))


def judge_patterns(change, seed=0):
    """Judge right values, changed by a function of a format's values."""
    return judge_decoded_patterns(observe([change(truth_of(one).clone()) for one in decoding_cases(seed)]), seed)


def judge_rounding(change, seed=0):
    """Judge right values, changed by a function of a value and its rounded value."""
    cases = rounding_cases(seed)
    rows = [[change(value, rounded_in(case.bit_format, value)) for value in case.values] for case in cases]
    return judge_rounded_values(observe([torch.tensor(row, dtype=torch.float64) for row in rows]), seed)


@pytest.mark.parametrize("bit_format", DTYPES, ids=str)
def test_limits_are_those_of_torch(bit_format):
    info = torch.finfo(DTYPES[bit_format])
    smallest = torch.tensor(1).to({8: torch.uint8, 16: torch.int16, 32: torch.int32}[info.bits])
    found = limits.limits_of(bit_format.exponent_bits, bit_format.mantissa_bits, 1.0)
    expected = (info.max, info.smallest_normal, smallest.view(DTYPES[bit_format]).double().item(), info.eps)
    assert found == dict(zip(LIMITS, expected, strict=True))


@pytest.mark.parametrize("number", [2.0**-20, 2.0**-14, 0.1, 1.0, 1.5, 2048.0, 60000.0])
def test_the_spacing_is_the_distance_of_torchs_neighbours(number):
    value = torch.tensor(number, dtype=torch.float16)
    above = (value.view(torch.int16) + 1).view(torch.float16)
    assert limits.limits_of(5, 10, value.item())["spacing"] == above.double().item() - value.double().item()


def test_two_misconceptions_about_two_limits_are_named_one_after_the_other():
    cases = limits_cases(0)
    wrong = [dict(limits.TABLE.truths(0)[index]) for index in range(len(cases))]
    for values, case in zip(wrong, cases, strict=True):
        values |= {"largest": 2 * values["largest"], "spacing": 2.0**-case.bit_format.mantissa_bits}
    assert limits.judge_format_limits(Observation({"answers": wrong}), 0).code == "top_exponent_used"
    for values, truth in zip(wrong, limits.TABLE.truths(0), strict=True):
        values["largest"] = truth["largest"]
    assert limits.judge_format_limits(Observation({"answers": wrong}), 0).code == "spacing_of_one"


@pytest.mark.parametrize("bit_format", [FP16, BF16, E5M2, E4M3], ids=str)
def test_the_decoder_agrees_with_torch_on_every_pattern(bit_format):
    parts = (bit_format.exponent_bits, bit_format.mantissa_bits, bit_format.has_infinity)
    values = [decoding.decode(bits, *parts) for bits in range(bit_format.pattern_count)]
    ours, torchs = torch.tensor(values, dtype=torch.float64), truth_of(bit_format)
    assert torch.equal(ours.nan_to_num(nan=7.5), torchs.nan_to_num(nan=7.5))
    assert torch.equal(ours.signbit() | ours.isnan(), torchs.signbit() | torchs.isnan())


@pytest.mark.parametrize("seed", [0, 20011])
def test_right_values_pass(seed):
    assert judge_patterns(lambda values: values, seed).is_passed
    assert judge_rounding(lambda value, rounded: rounded, seed).is_passed


def test_a_failed_decoder_sees_how_many_patterns_are_wrong_and_where():
    verdict = judge_patterns(lambda values: values.where(values != values[1], 1.0))
    assert verdict.expected == "fp16 0 00000 0000000001: 5.960464e-08 = 2**-24"
    counts = "1 of 65,536 patterns of fp16 are wrong: 1 at exponent 0, 0 at the top exponent, 0 between"
    assert verdict.measured == f"1; {counts}"
    assert verdict.code == "exponent_zero_wrong"


def test_one_wrong_pattern_fails_and_is_given_no_name_that_could_be_false():
    def change(values):
        if len(values) == 65_536:
            values[12_345] += 1  # among the patterns that are compared, and not among those that explain
        return values

    assert judge_patterns(change).code == UNRECOGNISED


@pytest.mark.parametrize("fill", [math.nan, math.inf, 0.0])
def test_one_value_for_all_fails(fill):
    assert judge_patterns(lambda values: torch.full_like(values, fill)).code == UNRECOGNISED
    assert not judge_rounding(lambda value, rounded: fill).is_passed


def test_the_sign_of_a_zero_counts_in_patterns_and_not_in_rounding():
    assert judge_patterns(lambda values: values + 0.0).code == "sign_lost_at_zero"
    assert judge_rounding(lambda value, rounded: abs(rounded) if rounded == 0 else rounded).is_passed


@pytest.mark.parametrize("bit_format", [FP16, BF16, E5M2], ids=str)
def test_values_of_fp32_are_rounded_as_torch_does(bit_format):
    generator = torch.Generator().manual_seed(0)
    exponents = torch.randint(-45, 45, (4000,), generator=generator).float()
    values = torch.randn(4000, generator=generator) * exponents.exp2()
    ours = torch.tensor([rounded_in(bit_format, value) for value in values.tolist()], dtype=torch.float64)
    assert torch.equal(ours, values.to(DTYPES[bit_format]).double())


def round_exactly(bit_format, value):
    """Round with fractions, from the definition: the nearest multiple of the step, half-way to even."""
    if value == 0 or not math.isfinite(value):
        return value
    exact, step = abs(Fraction(value)), Fraction(2) ** (1 - bit_format.bias - bit_format.mantissa_bits)
    while exact >= step * 2 ** (bit_format.mantissa_bits + 1):
        step *= 2
    rounded = round(exact / step) * step
    return math.copysign(math.inf if rounded >= Fraction(2) ** (bit_format.bias + 1) else float(rounded), value)


@pytest.mark.parametrize("seed", range(6))
def test_every_case_is_rounded_as_exact_arithmetic_does(seed):
    for case in rounding_cases(seed):
        assert rounding.TABLE.is_near(
            [rounded_in(case.bit_format, value) for value in case.values],
            [round_exactly(case.bit_format, value) for value in case.values],
        )


def test_the_values_of_the_lesson_are_rounded_to_even():
    values = (2049.0, 2051.0, 65519.0, 65520.0, 2.0**-24, 2.0**-25, 1 + 2.0**-11)
    rounded = [2048.0, 2052.0, 65504.0, math.inf, 2.0**-24, 0.0, 1.0]
    assert [rounded_in(FP16, value) for value in values] == rounded
    assert rounded_in(BF16, 1 + 2.0**-8) == 1.0


def test_a_failed_rounding_shows_the_first_wrong_value():
    verdict = judge_rounding(lambda value, rounded: 2050.0 if value == 2049 else rounded)
    assert verdict.expected == "2,049 in fp16, a value of the lesson: 2,048"
    assert verdict.measured.startswith("2,050; ")


def is_at(place):
    """Whether a value is only of kinds that are at this place."""
    kinds = defaultdict(set)
    for case in rounding_cases(0):
        for value, kind in zip(case.values, case.kinds, strict=True):
            kinds[value].add(rounding.place_of(kind) == place)
    return lambda value: kinds[value] == {True}


@pytest.mark.parametrize(
    ("is_changed", "code"),
    [
        (math.isnan, "special_values_wrong"),
        (lambda value: abs(value) == 65519, "normal_numbers_wrong"),
        (lambda value: abs(value) == 2.0**-1060, "subnormals_wrong"),
        *((is_at(place), place) for place in ("half_way_wrong", "top_wrong", "below_fp32_wrong")),
    ],
)
def test_wrong_values_of_one_kind_are_named_by_their_place(is_changed, code):
    assert judge_rounding(lambda value, rounded: 5.5 if is_changed(value) else rounded).code == code

"""The cases of lesson 04 ask about formats and values at which the rules of a format show."""

from __future__ import annotations

import math

import pytest
import torch

from grader.judging.lessons.number_formats.rounding import rounded_in
from grader.lessons.number_formats.bit_format import BF16, E4M3, E5M2, FP16
from grader.lessons.number_formats.compensation import sum_cases
from grader.lessons.number_formats.decoding import decoding_cases
from grader.lessons.number_formats.limits import SHOWN, limits_cases
from grader.lessons.number_formats.moments import stochastic_cases
from grader.lessons.number_formats.rounding import rounding_cases

SEEDS = range(8)


@pytest.mark.parametrize("seed", SEEDS)
def test_limits_are_asked_of_five_formats_that_the_lesson_does_not_show(seed):
    formats = [case.bit_format for case in limits_cases(seed)]
    assert len({(one.exponent_bits, one.mantissa_bits) for one in formats} - set(SHOWN)) == 5


@pytest.mark.parametrize("seed", SEEDS)
def test_numbers_are_normal_and_subnormal(seed):
    *normal, first, second = limits_cases(seed)
    for case in normal:
        assert 2.0 ** (1 - case.bit_format.bias) <= case.number < 2.0**case.bit_format.bias
    for case in (first, second):
        assert 0 < case.number < 2.0 ** (1 - case.bit_format.bias)
    assert math.log2(normal[1].number).is_integer()


@pytest.mark.parametrize("seed", SEEDS)
def test_two_of_the_decoded_formats_are_unknown_to_torch_and_small(seed):
    *known, with_infinity, without_infinity = decoding_cases(seed)
    assert known == [FP16, BF16, E5M2, E4M3]
    assert (with_infinity.has_infinity, without_infinity.has_infinity) == (True, False)
    assert max(with_infinity.pattern_count, without_infinity.pattern_count) <= 4096
    bits = {(one.exponent_bits, one.mantissa_bits) for one in known}
    assert not bits & {(one.exponent_bits, one.mantissa_bits) for one in (with_infinity, without_infinity)}


@pytest.mark.parametrize("seed", SEEDS)
def test_half_way_values_have_even_and_odd_neighbours_below(seed):
    for case in rounding_cases(seed):
        steps = 2.0**case.bit_format.mantissa_bits
        below = {
            math.floor(value * steps) % 2
            for value, kind in zip(case.values, case.kinds, strict=True)
            if kind == "half-way" and 1 < value < 2
        }
        assert below == {0, 1}


@pytest.mark.parametrize("seed", SEEDS)
def test_some_values_are_half_way_only_for_fp32(seed):
    for case in rounding_cases(seed):
        values = torch.tensor(case.values, dtype=torch.float64)
        is_changed = values.isfinite() & (values.float().double() != values)
        assert is_changed.sum() >= 6


@pytest.mark.parametrize("seed", range(3))
def test_plain_sums_stall_in_every_case(seed):
    for case in sum_cases(seed):
        total, values = case.make_tensors()
        exact = total.double() + values.double().sum(0)
        for value in values:
            total = total + value
        spacing = torch.finfo(case.dtype).eps * exact.abs().log2().floor().exp2()
        assert ((total.double() - exact).abs() > 10 * spacing).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_some_values_differ_from_a_number_by_less_than_fp32_or_a_tolerance_of_1e_9_resolves(seed):
    for case in rounding_cases(seed):
        format_values = [
            (value, rounded_in(case.bit_format, value))
            for value, kind in zip(case.values, case.kinds, strict=True)
            if kind == "very near a number of the format"
        ]
        assert any(torch.tensor(value) == torch.tensor(number) for value, number in format_values)
        assert any(math.isclose(value, number) for value, number in format_values)
        assert not any(value == number for value, number in format_values)


@pytest.mark.parametrize("seed", SEEDS)
def test_values_to_be_rounded_at_random_hold_zeros_numbers_of_bf16_and_both_signs(seed):
    for case in stochastic_cases(seed):
        values, noise = case.make_tensors()
        is_number = values.bfloat16().float() == values
        assert is_number.any() and not is_number.all()
        assert (values == 0).any() and (values < 0).any() and (values > 0).any()
        assert values.shape == noise.shape == case.shape
        assert ((noise >= 0) & (noise < 1)).all()

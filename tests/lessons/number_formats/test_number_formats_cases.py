"""The cases of lesson 04 ask about formats and values at which the rules of a format show."""

from __future__ import annotations

import math

import pytest
import torch

from grader.judging.lessons.number_formats.rounding import rounded_in
from grader.lessons.number_formats.bit_format import BF16, E4M3, E5M2, FP16
from grader.lessons.number_formats.choice import choice_cases
from grader.lessons.number_formats.compensation import sum_cases
from grader.lessons.number_formats.decoding import decoding_cases
from grader.lessons.number_formats.limits import SHOWN, limits_cases
from grader.lessons.number_formats.rounding import loss_cases, rounding_cases

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


def test_loss_cases_have_other_formats_and_another_order():
    assert [case.kinds for case in loss_cases(0)] != [case.kinds for case in rounding_cases(1)]
    assert [sorted(case.kinds) for case in loss_cases(0)] == [sorted(case.kinds) for case in rounding_cases(1)]
    assert [case.kinds for case in loss_cases(0)] != [case.kinds for case in loss_cases(20011)]


@pytest.mark.parametrize("seed", range(3))
def test_plain_sums_stall_in_every_case(seed):
    for case in sum_cases(seed):
        total, values = case.make_tensors()
        exact = total.double() + values.double().sum(0)
        for value in values:
            total = total + value
        spacing = torch.finfo(case.dtype).eps * exact.abs().log2().floor().exp2()
        assert ((total.double() - exact).abs() > 10 * spacing).all()


@pytest.mark.parametrize("seed", range(5))
def test_tensors_to_choose_for_are_finite_and_fp32_and_in_another_order_for_each_seed(seed):
    cases = choice_cases(seed)
    assert all(case.make_values().isfinite().all() and case.make_values().dtype == torch.float32 for case in cases)
    assert [case.what for case in cases] != [case.what for case in choice_cases(seed + 1)]


@pytest.mark.parametrize("seed", SEEDS)
def test_no_choice_depends_on_what_a_cast_to_e4m3_makes_of_values_above_448(seed):
    for case in choice_cases(seed):
        values = case.make_values()
        is_beyond = values.abs() > 448
        cast = torch.where(is_beyond, 448 * values.sign(), values).to(torch.float8_e4m3fn).float()
        kept = ((cast - values).abs() <= case.tolerance * values.abs()) | is_beyond
        assert not (is_beyond.any() and kept.all())


@pytest.mark.parametrize("seed", SEEDS)
def test_tensors_show_what_at_most_means_and_what_an_error_is_relative_to(seed):
    cases = {case.what: case for case in choice_cases(seed)}
    flags, weights = cases["flags to be kept exactly"], cases["attention weights"]
    assert flags.tolerance == 0.0
    assert torch.equal(flags.make_values().to(torch.float8_e4m3fn).float(), flags.make_values())
    assert 1 / 17 < weights.tolerance < 1 / 16
    assert 1.0625 in weights.make_values().abs()
    beyond = cases["activations with one large outlier"].make_values().max()
    assert beyond.half().isinf()
    assert beyond - 65504 < 2.0**-8 * beyond


@pytest.mark.parametrize("seed", SEEDS)
def test_some_values_differ_from_a_number_by_less_than_fp32_or_a_tolerance_of_1e_9_resolves(seed):
    for case in loss_cases(seed):
        format_values = [
            (value, rounded_in(case.bit_format, value))
            for value, kind in zip(case.values, case.kinds, strict=True)
            if kind == "very near a number of the format"
        ]
        assert any(torch.tensor(value) == torch.tensor(number) for value, number in format_values)
        assert any(math.isclose(value, number) for value, number in format_values)
        assert not any(value == number for value, number in format_values)

"""The checks of lesson 04 accept any number and any tensor that fits, and name what is wrong with others."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from grader.judging.lessons.number_formats.limits import limits_of
from grader.lessons.number_formats.checks import (
    check_compensated_sum,
    check_decoded_patterns,
    check_format_limits,
    check_moment_fate,
    check_rounded_values,
    check_stochastic_rounding,
)
from grader.lessons.number_formats.narrow_formats import refuse_narrow_formats
from grader.verdict import CheckFailed


@pytest.fixture(autouse=True)
def no_attempts(monkeypatch):
    monkeypatch.setenv("LEAN_TRAINING_ATTEMPTS", "off")
    monkeypatch.delenv("LEAN_TRAINING_SEED", raising=False)
    torch.set_num_threads(1)


def code_of(check, answer):
    with pytest.raises(CheckFailed) as failure:
        check(answer)
    assert len(failure.value.lines()) == 3
    assert all(line[10:].strip() for line in failure.value.lines())
    return failure.value.code


@pytest.mark.parametrize("convert", [float, np.float64, lambda value: torch.tensor(value, dtype=torch.float64)])
def test_any_number_passes_with_one_line(convert, capsys):
    check_format_limits(lambda *arguments: {key: convert(v) for key, v in limits_of(*arguments).items()})
    printed = capsys.readouterr()
    assert (printed.out.count("passed:"), printed.out.count("\n"), printed.err) == (1, 1, "")


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (None, "returned_none"),
        (65504.0, "wrong_type"),
        ({"largest": 1.0}, "key_missing"),
        (dict.fromkeys(("largest", "smallest_normal", "smallest_subnormal", "spacing"), math.nan), "not_finite"),
        (dict.fromkeys(("largest", "smallest_normal", "smallest_subnormal", "spacing"), "1"), "wrong_type"),
        (dict.fromkeys(("largest", "smallest_normal", "smallest_subnormal", "spacing"), 2**2000), "too_large"),
    ],
)
def test_what_are_no_limits_is_named(value, code):
    assert code_of(check_format_limits, lambda exponent_bits, mantissa_bits, number: value) == code


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (None, "returned_none"),
        ("1.0", "wrong_type"),
        (True, "wrong_type"),
        (torch.zeros(2), "wrong_type"),
        (2**2000, "too_large"),
    ],
)
def test_what_is_no_number_is_named(value, code):
    assert code_of(check_decoded_patterns, lambda bits, exponent_bits, mantissa_bits, has_infinity: value) == code
    assert code_of(check_rounded_values, lambda value_, exponent_bits, mantissa_bits: value) == code


@pytest.mark.parametrize("value", [-2049.0, -math.inf])
def test_an_exception_names_the_value_that_led_to_it(value):
    def raise_at_one_value(given, exponent_bits, mantissa_bits):
        if given == value:
            raise ValueError("math domain error")
        return 1.0

    with pytest.raises(CheckFailed) as failure:
        check_rounded_values(raise_at_one_value)
    assert failure.value.code == "raised_value_error"
    assert failure.value.measured.startswith(f"ValueError: math domain error. Called with value={value}, exponent_bits")


def test_formats_of_torch_are_refused_and_left_as_they_were():
    def by_view(bits, exponent_bits, mantissa_bits, has_infinity):
        return torch.tensor(bits % 128).to(torch.uint8).view(torch.float8_e5m2).item()

    assert code_of(check_decoded_patterns, by_view) == "torch_format_used"
    assert code_of(check_rounded_values, lambda v, e, m: torch.tensor(v).half().item()) == "torch_format_used"
    assert torch.tensor(1.0).half().item() == 1.0


def test_wide_formats_are_not_refused():
    with refuse_narrow_formats("a value"):
        assert torch.tensor([1.5], dtype=torch.float64).round().int().item() == 2


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (None, "returned_none"),
        (torch.zeros(8, dtype=torch.bfloat16), "not_a_pair"),
        ((torch.zeros(8, dtype=torch.bfloat16),), "not_a_pair"),
        ((1.0, 2.0), "wrong_type"),
        ((torch.zeros(8), torch.zeros(8)), "wrong_dtype"),
        ((torch.zeros(8, dtype=torch.bfloat16), torch.zeros((), dtype=torch.bfloat16)), "wrong_shape"),
        ((torch.full((8,), torch.nan, dtype=torch.bfloat16), torch.zeros(8, dtype=torch.bfloat16)), "not_finite"),
    ],
)
def test_what_is_no_pair_of_tensors_is_named(value, code):
    assert code_of(check_compensated_sum, lambda total, lost, value_: value) == code


@pytest.mark.parametrize(
    ("value", "code"), [(None, "returned_none"), ("Frozen", "wrong_word"), (True, "wrong_word"), (0, "wrong_word")]
)
def test_what_is_no_word_is_named(value, code):
    assert code_of(check_moment_fate, lambda beta2, mantissa_bits: value) == code


def test_stochastic_rounding_leaves_the_values_and_returns_bf16():
    assert code_of(check_stochastic_rounding, lambda values, noise: values) == "wrong_dtype"
    assert code_of(check_stochastic_rounding, lambda values, noise: values.abs_().bfloat16()) == "values_changed"
    assert code_of(check_stochastic_rounding, lambda values, noise: values.bfloat16()[:5]) == "wrong_shape"

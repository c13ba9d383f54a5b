"""Misconceptions that show in several limits of a format at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from grader.judging.lessons.number_formats.limits_truth import limits_of
from grader.judging.lessons.number_formats.wording import join_sentences
from grader.lessons.number_formats.bit_format import BitFormat
from grader.lessons.number_formats.limits import LimitsCase

Limits = Mapping[str, float]

# Without "spacing", which depends on the number.
KNOWN_FORMATS: Mapping[str, Limits] = {
    name: {
        "largest": (2 - 2.0**-mantissa_bits) * 2.0**bias,
        "smallest_normal": 2.0 ** (1 - bias),
        "smallest_subnormal": 2.0 ** (1 - bias - mantissa_bits),
    }
    for name, mantissa_bits, bias in (
        ("fp32", 23, 127),
        ("tf32", 10, 127),
        ("fp16", 10, 15),
        ("bf16", 7, 127),
        ("e5m2", 2, 15),
        ("the small format", 1, 1),
    )
}


def _bias(case: LimitsCase) -> int:
    return case.bit_format.bias


def _mantissa(case: LimitsCase) -> int:
    return case.bit_format.mantissa_bits


def _with_bias(shift: int) -> Callable[[LimitsCase], Limits]:
    """Return what follows from a bias that is too large by `shift`, for the limits that depend on it."""

    def yields(case: LimitsCase) -> Limits:
        right = limits_of(case)
        return {key: right[key] * 2.0**-shift for key in ("largest", "smallest_normal", "smallest_subnormal")}

    return yields


def _with_mantissa(shift: int) -> Callable[[LimitsCase], Limits]:
    """Return what follows from a mantissa of `shift` more bits."""

    def yields(case: LimitsCase) -> Limits:
        right, bits = limits_of(case), _mantissa(case) + shift
        largest = (2 - 2.0**-bits) * 2.0 ** _bias(case)
        smaller = {key: right[key] * 2.0**-shift for key in ("smallest_subnormal", "spacing")}
        return {"largest": largest, **smaller}

    return yields


def _from_bias(bias_of: Callable[[LimitsCase], int]) -> Callable[[LimitsCase], Limits]:
    """Return the lower end that follows from another bias; the largest number may come from the top exponent."""

    def yields(case: LimitsCase) -> Limits:
        smallest_normal = 2.0 ** (1 - bias_of(case))
        return {"smallest_normal": smallest_normal, "smallest_subnormal": smallest_normal * 2.0 ** -_mantissa(case)}

    return yields


def _with_exponent_bits_only(case: LimitsCase) -> Limits:
    """Return what follows where the exponent bits are taken for the mantissa bits."""
    exponent_bits = case.bit_format.exponent_bits
    return limits_of(replace(case, bit_format=BitFormat(exponent_bits, exponent_bits)))


def _exchanged(case: LimitsCase) -> Limits:
    right = limits_of(case)
    return {"smallest_normal": right["smallest_subnormal"], "smallest_subnormal": right["smallest_normal"]}


def _known(name: str) -> Callable[[LimitsCase], Limits]:
    return lambda case: KNOWN_FORMATS[name]


_BIAS = "the bias: half of the exponent's range, less one. The exponents 1 to 2 * bias stand for numbers"
_BITS = "the mantissa: the 1 in front of it is not stored, and the sign is no part of it"

JOINT: tuple[tuple[str, str, Callable[[LimitsCase], Limits]], ...] = (
    *(
        (
            f"limits_of_{name.replace(' ', '_')}",
            f"these are the limits of {name}: how do they follow from the counts of bits?",
            _known(name),
        )
        for name in KNOWN_FORMATS
    ),
    *(
        (code, join_sentences(what, _BIAS), _from_bias(bias_of))
        for code, what, bias_of in (
            ("bias_of_fp16", "15 is the bias of five exponent bits", lambda case: 15),
            ("bias_of_fp32", "127 is the bias of eight exponent bits", lambda case: 127),
            (
                "biases_of_known_formats",
                "15 and 127 are the biases of five and of eight exponent bits",
                lambda case: 15 if case.bit_format.exponent_bits == 5 else 127,
            ),
            (
                "xor_for_power",
                "in Python ^ is no power, it compares the bits of two integers: a power is written **",
                lambda case: 2 ^ (case.bit_format.exponent_bits - 2),
            ),
        )
    ),
    ("normal_and_subnormal_exchanged", "normal numbers have a 1 in front: which end is smaller?", _exchanged),
    ("mantissa_of_the_exponent_bits", "the two counts of bits: which one is the mantissa's?", _with_exponent_bits_only),
    ("bias_too_large", _BIAS, _with_bias(1)),
    ("bias_too_small", _BIAS, _with_bias(-1)),
    ("mantissa_one_bit_longer", _BITS, _with_mantissa(1)),
    ("mantissa_one_bit_shorter", _BITS, _with_mantissa(-1)),
)

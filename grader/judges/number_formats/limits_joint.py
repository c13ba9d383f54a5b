"""Misconceptions that show in several limits of a format at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from grader.cases.number_formats import LimitsCase
from grader.judges.number_formats.limits_truth import limits_of

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


def _known(name: str) -> Callable[[LimitsCase], Limits]:
    return lambda case: KNOWN_FORMATS[name]


_BIAS = "the bias: half of the exponent's range, less one. The exponents 1 to 2 * bias stand for numbers"
_BITS = "the mantissa: the 1 in front of it is not stored, and the sign is no part of it"

JOINT: tuple[tuple[str, str, Callable[[LimitsCase], Limits]], ...] = (
    *(
        (
            f"limits_of_{name}",
            f"these are the limits of {name}: how do they follow from the counts of bits?",
            _known(name),
        )
        for name in KNOWN_FORMATS
    ),
    ("bias_too_large", _BIAS, _with_bias(1)),
    ("bias_too_small", _BIAS, _with_bias(-1)),
    ("mantissa_one_bit_longer", _BITS, _with_mantissa(1)),
    ("mantissa_one_bit_shorter", _BITS, _with_mantissa(-1)),
)

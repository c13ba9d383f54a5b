"""What every bit pattern of a format stands for, by the right rules or by others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from grader.lessons.number_formats.bit_format import BitFormat

Rules = Mapping[str, str]


@dataclass(frozen=True)
class Fields:
    """The three parts of every pattern of a format.

    Attributes:
        bit_format: The format.
        sign: 1.0 or -1.0.
        exponent: The stored exponent.
        mantissa: The stored mantissa, an integer.
    """

    bit_format: BitFormat
    sign: Tensor
    exponent: Tensor
    mantissa: Tensor

    @property
    def top(self) -> Tensor:
        """Whether the exponent is all ones."""
        largest: int = 2**self.bit_format.exponent_bits - 1
        return self.exponent == largest


def fields_of(bit_format: BitFormat) -> Fields:
    """Cut every pattern of a format, in order, into its parts."""
    patterns = torch.arange(bit_format.pattern_count)
    magnitude = patterns % (bit_format.pattern_count // 2)
    sign = torch.where(magnitude == patterns, 1.0, -1.0).double()
    return Fields(
        bit_format, sign, magnitude >> bit_format.mantissa_bits, magnitude & (2**bit_format.mantissa_bits - 1)
    )


def decode_by(fields: Fields, rules: Rules) -> Tensor:
    """Decode every pattern in float64.

    Args:
        fields: The parts of the patterns.
        rules: What to do otherwise than right, by the question; {} is right.

    Returns:
        Values in the order of the patterns.
    """
    bias = _bias(fields.bit_format, rules.get("bias", "right"))
    fraction = _fraction(fields, rules.get("fraction", "right"))
    exponent = fields.exponent.double()
    values = _normal(fraction, exponent, bias, fields.sign, rules.get("normal", "right"))
    below = {
        "right": fraction * 2.0 ** (1 - bias),
        "implicit_one": values,
        "implicit_one_raised": (1 + fraction) * 2.0 ** (1 - bias),
        "exponent_zero": fraction * 2.0**-bias,
        "flushed": torch.zeros_like(values),
        "flushed_but_zero": torch.where(fields.mantissa == 0, 0.0, values),
    }[rules.get("below", "right")]
    values = torch.where(fields.exponent == 0, below, values)
    values = _with_special(fields, values, rules)
    return _signed(fields, values, rules.get("sign", "right"))


def _normal(fraction: Tensor, exponent: Tensor, bias: int, sign: Tensor, rule: str) -> Tensor:
    """Return normal numbers, without their sign."""
    if rule == "no_one":
        return fraction * torch.exp2(exponent - bias)
    if rule == "bias_added":
        return (1 + fraction) * torch.exp2(exponent + bias)
    if rule == "one_outside":  # sign * 1 + fraction * 2**power
        return sign * (sign + fraction * torch.exp2(exponent - bias))
    return (1 + fraction) * torch.exp2(exponent - bias)


def _signed(fields: Fields, values: Tensor, rule: str) -> Tensor:
    """Give values their sign."""
    is_lost = {
        "right": values.isnan(),
        "turned": values.isnan(),
        "lost": ~values.isnan(),
        "lost_at_infinity": values.isinf(),
        "lost_at_zero": values == 0,
        "lost_below": fields.exponent == 0,
        "lost_in_normal": (fields.exponent > 0) & values.isfinite(),
        "lost_but_at_infinity": values.isfinite(),
    }[rule]
    signed = -values * fields.sign if rule == "turned" else values * fields.sign
    return torch.where(is_lost, values, signed)


def _with_special(fields: Fields, values: Tensor, rules: Rules) -> Tensor:
    """Put infinities and NaN in place."""
    is_zero, is_ones = fields.mantissa == 0, fields.mantissa == 2**fields.bit_format.mantissa_bits - 1
    infinity, nan = torch.tensor(torch.inf).double(), torch.tensor(torch.nan).double()
    ieee = {
        "right": torch.where(is_zero, infinity, nan),
        "ordinary": values,
        "infinite": infinity,
        "nan": nan,
        "exchanged": torch.where(is_zero, nan, infinity),
        "nan_for_ones_alone": torch.where(is_zero, infinity, torch.where(is_ones, nan, values)),
        "no_nan": torch.where(is_zero, infinity, values),
    }
    if fields.bit_format.has_infinity != (rules.get("flag") == "turned"):
        return torch.where(fields.top, ieee[rules.get("top", "right")], values)
    ones = fields.top & is_ones
    finite = {
        "right": torch.where(ones, nan, values),
        "ieee": torch.where(fields.top, ieee["right"], values),
        "top_as_ieee": torch.where(fields.top, ieee[rules.get("top", "right")], values),
        "ordinary": values,
        "nan": torch.where(fields.top, nan, values),
        "infinite": torch.where(ones, infinity, values),
        "nan_in_mantissa": torch.where(is_ones, nan, values),
        "nan_at_mantissa_zero": torch.where(fields.top & is_zero, nan, values),
    }
    return finite[rules.get("finite", "right")]


def _bias(bit_format: BitFormat, rule: str) -> int:
    biases: dict[str, int] = {
        "right": bit_format.bias,
        "too_large": bit_format.bias + 1,
        "too_small": bit_format.bias - 1,
        "none": 0,
        "of_fp16": 15,
        "of_fp32": 127,
        "whole_range": 2**bit_format.exponent_bits - 1,
        "of_the_mantissa": 2 ** (bit_format.mantissa_bits - 1) - 1,
    }
    return biases[rule]


def _fraction(fields: Fields, rule: str) -> Tensor:
    bits = fields.bit_format.mantissa_bits
    mantissa = fields.mantissa.double()
    if rule == "reversed":
        weights = [((fields.mantissa >> index) & 1).double() * 2.0 ** -(index + 1) for index in range(bits)]
        return torch.stack(weights).sum(0)
    if rule == "whole_division":
        return torch.zeros_like(mantissa)
    divisor = {
        "right": 2.0**bits,
        "not_divided": 1.0,
        "one_bit_more": 2.0 ** (bits + 1),
        "one_bit_less": 2.0 ** (bits - 1),
        "largest_mantissa": 2.0**bits - 1,
        "of_fp16": 1024.0,
        "decimal": 10.0 ** len(str(2**bits - 1)),
    }[rule]
    return mantissa / divisor

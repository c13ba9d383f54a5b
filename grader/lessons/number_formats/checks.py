"""Observes the answers of lesson 04: number formats."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from grader.device import lesson_device
from grader.lessons.number_formats.compensation import sum_cases
from grader.lessons.number_formats.decoding import decoding_cases
from grader.lessons.number_formats.limits import LIMITS, limits_cases
from grader.lessons.number_formats.moments import FATES, moment_cases, stochastic_cases
from grader.lessons.number_formats.narrow_formats import refuse_narrow_formats
from grader.lessons.number_formats.rounding import rounding_cases
from grader.observation import Observation
from grader.observing.arguments import tell_arguments
from grader.observing.contract import fail, require_number, require_tensor, require_word
from grader.observing.running import make_check

NOTHING_RETURNED = "You return nothing. Look at the end of your function: does it return its result?"


@make_check("format_limits", ("exponent_bits", "mantissa_bits", "number"))
def check_format_limits(format_limits: Callable[..., Any], seed: int) -> Observation:
    """Ask for the limits of five formats that the lesson does not show."""
    answers = []
    for case in limits_cases(seed):
        bit_format = case.bit_format
        returned = format_limits(bit_format.exponent_bits, bit_format.mantissa_bits, case.number)
        answers.append(_require_limits(returned))
    return Observation({"answers": answers})


@make_check("decode", ("bits", "exponent_bits", "mantissa_bits", "has_infinity"))
def check_decoded_patterns(decode: Callable[..., Any], seed: int) -> Observation:
    """Decode every bit pattern of six formats."""
    tensors = {}
    for index, bit_format in enumerate(decoding_cases(seed)):
        parts = (bit_format.exponent_bits, bit_format.mantissa_bits, bit_format.has_infinity)
        with refuse_narrow_formats("a value computed from sign, exponent and mantissa"):
            values = [_require_value(decode(bits, *parts)) for bits in range(bit_format.pattern_count)]
        tensors[str(index)] = torch.tensor(values, dtype=torch.float64)
    return Observation(tensors=tensors)


@make_check("round_to_format", ("value", "exponent_bits", "mantissa_bits"))
def check_rounded_values(round_to_format: Callable[..., Any], seed: int) -> Observation:
    """Round values to six formats, three of which torch does not have."""
    tensors = {}
    for index, case in enumerate(rounding_cases(seed)):
        parts = (case.bit_format.exponent_bits, case.bit_format.mantissa_bits)
        with refuse_narrow_formats("a value rounded by lines of your own"):
            values = [_round(round_to_format, value, *parts) for value in case.values]
        tensors[str(index)] = torch.tensor(values, dtype=torch.float64)
    return Observation(tensors=tensors)


@make_check("add_compensated", ("total", "lost", "value"))
def check_compensated_sum(add_compensated: Callable[..., Any], seed: int) -> Observation:
    """Add up long rows of small values in fp16 and in bf16."""
    tensors: dict[str, Tensor] = {}
    for index, case in enumerate(sum_cases(seed)):
        start, values = (tensor.to(lesson_device()) for tensor in case.make_tensors())
        total, lost = start.clone(), torch.zeros_like(start)
        for value in values:
            total, lost = _require_pair(add_compensated(total, lost, value.clone()), like=start)
        tensors |= {f"{index}.total": total, f"{index}.lost": lost}
    return Observation(tensors=tensors)


@make_check("fate_of_moment", ("beta2", "mantissa_bits"))
def check_moment_fate(fate_of_moment: Callable[..., Any], seed: int) -> Observation:
    """Ask what happens to nine second moments."""
    answers = [require_word(fate_of_moment(case.beta2, case.mantissa_bits), FATES) for case in moment_cases(seed)]
    return Observation({"answers": answers})


@make_check("round_stochastically", ("values", "noise"))
def check_stochastic_rounding(round_stochastically: Callable[..., Any], seed: int) -> Observation:
    """Round three tensors, with the random numbers given."""
    tensors = {}
    for index, case in enumerate(stochastic_cases(seed)):
        values, noise = (tensor.to(lesson_device()) for tensor in case.make_tensors())
        before = values.clone()
        rounded = round_stochastically(values, noise)
        tensors[str(index)] = require_tensor(rounded, "the rounded values", like=before.bfloat16()).clone()
        if not torch.equal(values, before):
            look_at = "You change `values` in place. Look for operations whose names end in `_`, and for views."
            fail("values_changed", "the tensor as it was", "other values in it", look_at)
    return Observation(tensors=tensors)


def _round(round_to_format: Callable[..., Any], value: float, exponent_bits: int, mantissa_bits: int) -> float:
    """Round one value; name it in the message of an exception."""
    called = {"value": value, "exponent_bits": exponent_bits, "mantissa_bits": mantissa_bits}
    with tell_arguments("round_to_format", **called):
        return _require_value(round_to_format(value, exponent_bits, mantissa_bits))


def _require_limits(value: object) -> dict[str, int | float]:
    """Fail unless `value` is a dict with a finite number for each limit."""
    expected = f"a dict with the keys {', '.join(LIMITS)}"
    if value is None:
        fail("returned_none", expected, "None", NOTHING_RETURNED)
    if not isinstance(value, Mapping):
        look_at = "You return something other than a dict. Look at the keys that the docstring names."
        fail("wrong_type", expected, type(value).__name__, look_at)
    for key in LIMITS:
        if key not in value:
            found = ", ".join(map(str, value)) or "no key"
            look_at = f'You leave out "{key}". Return every key that the docstring names.'
            fail("key_missing", f'a dict with the key "{key}"', found, look_at)
    return {key: require_number(value[key], f'"{key}"') for key in LIMITS}


def _require_value(value: object) -> float:
    """Fail unless `value` is a number; infinities and NaN are numbers here."""
    return float(require_number(value, "the value", is_finite=False))


def _require_pair(value: object, *, like: Tensor) -> tuple[Tensor, Tensor]:
    """Fail unless `value` is total and lost, finite and in the format of `like`."""
    if value is None:
        fail("returned_none", "two tensors", "None", NOTHING_RETURNED)
    if not isinstance(value, tuple | list) or len(value) != 2:
        measured = f"{type(value).__name__}" + (f" of {len(value)}" if isinstance(value, tuple | list) else "")
        look_at = "You do not return a pair. Return the new total and what it lacks, in this order."
        fail("not_a_pair", "two tensors: total and lost", measured, look_at)
    total, lost = value
    return require_tensor(total, "the total", like=like), require_tensor(lost, "lost", like=like)

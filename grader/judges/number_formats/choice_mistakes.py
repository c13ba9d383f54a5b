"""What learners get wrong when they choose a format by measuring."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from grader.cases.number_formats import FORMAT_NAMES
from grader.judges.number_formats.choice_truth import DTYPES, MEASURED, errors_of

Choose = Callable[[Tensor, float], str | None]  # None where a loop ends without a choice


def _first(is_fit: Callable[[Tensor, float, str], bool], names: Sequence[str] = FORMAT_NAMES) -> Choose:
    return lambda values, tolerance: next((name for name in names if is_fit(values, tolerance, name)), None)


def _signed(values: Tensor, tolerance: float, name: str) -> bool:
    kept = values[values != 0].double()
    return bool((kept.float().to(DTYPES[name]).double() - kept).div(kept.abs()).max() <= tolerance)


def _signed_by_value(values: Tensor, tolerance: float, name: str) -> bool:
    kept = values[values != 0].double()
    return bool((kept.float().to(DTYPES[name]).double() - kept).div(kept).max() <= tolerance)


def _positive(values: Tensor, tolerance: float, name: str) -> bool:
    return float(errors_of(values[values > 0], name).max()) <= tolerance


def _with_absolute_part(values: Tensor, tolerance: float, name: str) -> bool:
    """Compare as torch.allclose does, whose `atol` is 1e-8 unless it is told otherwise."""
    rounded, exact = values.to(DTYPES[name]).double(), values.double()
    return bool(((rounded - exact).abs() <= 1e-8 + tolerance * exact.abs()).all())


def _with_epsilon(values: Tensor, tolerance: float, name: str) -> bool:
    rounded, exact = values.to(DTYPES[name]).double(), values.double()
    return bool(((rounded - exact).abs() / (exact.abs() + 1e-8)).max() <= tolerance)


def _absolute(values: Tensor, tolerance: float, name: str) -> bool:
    return bool((values.to(DTYPES[name]).double() - values.double()).abs().nan_to_num(nan=torch.inf).max() <= tolerance)


def _over_largest(values: Tensor, tolerance: float, name: str) -> bool:
    return _absolute(values, tolerance * float(values.abs().max()), name)


def _with_zeros(values: Tensor, tolerance: float, name: str) -> bool:
    is_exact = not bool((values == 0).any())
    return is_exact and float(errors_of(values, name).max()) <= tolerance


def _norm(values: Tensor, tolerance: float, name: str) -> bool:
    rounded, exact = values.to(DTYPES[name]).double(), values.double()
    return bool((rounded - exact).norm() / exact.norm() <= tolerance)


def _range(values: Tensor, tolerance: float, name: str) -> bool:
    return bool(values.abs().max() <= torch.finfo(DTYPES[name]).max)


def _positive_range(values: Tensor, tolerance: float, name: str) -> bool:
    return bool(values.max() <= torch.finfo(DTYPES[name]).max)


def _both_ends(values: Tensor, tolerance: float, name: str) -> bool:
    return _range(values, tolerance, name) and bool(
        values[values != 0].abs().min() >= torch.finfo(DTYPES[name]).smallest_normal
    )


def _precision(values: Tensor, tolerance: float, name: str) -> bool:
    return torch.finfo(DTYPES[name]).eps / 2 <= tolerance


def _bound(values: Tensor, tolerance: float, name: str) -> bool:
    return _both_ends(values, tolerance, name) and _precision(values, tolerance, name)


def _bound_of_eps(values: Tensor, tolerance: float, name: str) -> bool:
    return _both_ends(values, tolerance, name) and torch.finfo(DTYPES[name]).eps <= tolerance


def _right(values: Tensor, tolerance: float, name: str) -> bool:
    return float(errors_of(values, name).max()) <= tolerance


def _finite_only(values: Tensor, tolerance: float, name: str) -> bool:
    errors = errors_of(values, name)
    return bool(((errors <= tolerance) | (errors >= 1)).all())


def _mean(values: Tensor, tolerance: float, name: str) -> bool:
    return float(errors_of(values, name).mean()) <= tolerance


def _half(values: Tensor, tolerance: float, name: str) -> bool:
    return float(errors_of(values, name).max()) <= tolerance / 2


_RELATIVE = f"relative to each value: {MEASURED}"

MISTAKES: tuple[tuple[str, str, Choose], ...] = (
    ("widest_always", "the cheapest format that is good enough: which one is tried first?", lambda v, t: "fp32"),
    ("one_format_for_all", "what the choice depends on: the values, and the tolerance", lambda v, t: "bf16"),
    ("one_format_for_all", "what the choice depends on: the values, and the tolerance", lambda v, t: "fp16"),
    (
        "zeros_not_left_out",
        "0 / 0 is NaN, and NaN is within no tolerance: which values have a relative error?",
        _first(_with_zeros),
    ),
    ("sign_of_the_error", "errors of both signs: a value that is rounded down has an error too", _first(_signed)),
    ("sign_of_the_error", "errors of both signs: which of them does a maximum see?", _first(_signed_by_value)),
    ("negative_values_left_out", "values below 0: they have relative errors too", _first(_positive)),
    (
        "absolute_part",
        "a small number beside the error or the value: next to 1e-10 it counts",
        _first(_with_absolute_part),
    ),
    ("absolute_part", "a small number beside the error or the value: next to 1e-10 it counts", _first(_with_epsilon)),
    ("absolute_error", _RELATIVE, _first(_absolute)),
    ("relative_to_the_largest", _RELATIVE, _first(_over_largest)),
    ("relative_to_the_norm", f"a norm does not see a value that vanishes. {_RELATIVE}", _first(_norm)),
    ("mean_error", f"one lost value among many exact ones. {_RELATIVE}", _first(_mean)),
    ("lost_values_left_out", "values that became 0 or infinite: are they among the errors?", _first(_finite_only)),
    ("range_alone", "range is one half of it: how many digits does a value keep?", _first(_both_ends)),
    ("largest_alone", "the largest value fits: what becomes of the smallest, and of the digits?", _first(_range)),
    ("largest_without_sign", "a large negative value", _first(_positive_range)),
    ("precision_alone", "precision is one half of it: are the values within the format's range?", _first(_precision)),
    ("bound_in_place_of_error", f"eps / 2 is a bound. These values may be rounded better: {MEASURED}", _first(_bound)),
    ("eps_for_error", f"eps is the spacing at 1, twice the largest error: {MEASURED}", _first(_bound_of_eps)),
    ("half_the_tolerance", "the tolerance itself: is it compared with a half of it?", _first(_half)),
    ("fp8_left_out", "the formats of 8 bits come first", _first(_right, FORMAT_NAMES[2:])),
    (
        "bf16_before_fp16",
        "formats of equal size: which one comes first in FORMATS?",
        _first(_right, ("e4m3", "e5m2", "bf16", "fp16", "fp32")),
    ),
    (
        "e5m2_before_e4m3",
        "formats of equal size: which one comes first in FORMATS?",
        _first(_right, ("e5m2", "e4m3", "fp16", "bf16", "fp32")),
    ),
)

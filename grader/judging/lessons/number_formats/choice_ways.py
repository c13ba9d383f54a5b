"""Ways to choose a format by measuring that go wrong, and the right one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from grader.judging.lessons.number_formats.choice_truth import DTYPES, errors_of
from grader.lessons.number_formats.choice import FORMAT_NAMES

Fit = Callable[[Tensor, float, str], bool]
Choose = Callable[[Tensor, float], str | None]  # None where a loop ends without a choice


def first_that(is_fit: Callable[[Tensor, float, str], bool], names: Sequence[str] = FORMAT_NAMES) -> Choose:
    """Return the choice of the first format that fits; none where none does."""
    return lambda values, tolerance: next((name for name in names if is_fit(values, tolerance, name)), None)


def signed_error(values: Tensor, tolerance: float, name: str) -> bool:
    """Whether the largest error with its sign is within the tolerance."""
    kept = values[values != 0].double()
    return bool((kept.float().to(DTYPES[name]).double() - kept).div(kept.abs()).max() <= tolerance)


def signed_by_value(values: Tensor, tolerance: float, name: str) -> bool:
    """Whether the largest error over the value with its sign is within the tolerance."""
    kept = values[values != 0].double()
    return bool((kept.float().to(DTYPES[name]).double() - kept).div(kept).max() <= tolerance)


def positive_values(values: Tensor, tolerance: float, name: str) -> bool:
    """Whether the positive values are within the tolerance."""
    return float(errors_of(values[values > 0], name).max()) <= tolerance


def with_absolute_part(values: Tensor, tolerance: float, name: str) -> bool:
    """Compare as torch.allclose does, whose `atol` is 1e-8 unless it is told otherwise."""
    rounded, exact = values.to(DTYPES[name]).double(), values.double()
    return bool(((rounded - exact).abs() <= 1e-8 + tolerance * exact.abs()).all())


def with_epsilon(values: Tensor, tolerance: float, name: str) -> bool:
    """Whether errors over a value and a small number are within the tolerance."""
    rounded, exact = values.to(DTYPES[name]).double(), values.double()
    return bool(((rounded - exact).abs() / (exact.abs() + 1e-8)).max() <= tolerance)


def absolute_error(values: Tensor, tolerance: float, name: str) -> bool:
    """Whether the errors, not divided by anything, are within the tolerance."""
    return bool((values.to(DTYPES[name]).double() - values.double()).abs().nan_to_num(nan=torch.inf).max() <= tolerance)


def over_largest(values: Tensor, tolerance: float, name: str) -> bool:
    """Whether the errors over the largest value are within the tolerance."""
    return absolute_error(values, tolerance * float(values.abs().max()), name)


def with_zeros(values: Tensor, tolerance: float, name: str) -> bool:
    """Whether all values are within the tolerance, where a zero never is."""
    is_exact = not bool((values == 0).any())
    return is_exact and float(errors_of(values, name).max()) <= tolerance


def norm_of_errors(values: Tensor, tolerance: float, name: str) -> bool:
    """Whether the norm of the errors over that of the values is within the tolerance."""
    rounded, exact = values.to(DTYPES[name]).double(), values.double()
    return bool((rounded - exact).norm() / exact.norm() <= tolerance)


def largest_in_range(values: Tensor, tolerance: float, name: str) -> bool:
    """Whether the largest value is within the range."""
    return bool(values.abs().max() <= torch.finfo(DTYPES[name]).max)


def largest_without_sign(values: Tensor, tolerance: float, name: str) -> bool:
    """Whether the largest positive value is within the range."""
    return bool(values.max() <= torch.finfo(DTYPES[name]).max)


def in_range(values: Tensor, tolerance: float, name: str) -> bool:
    """Whether all values are within the range of normal numbers."""
    return largest_in_range(values, tolerance, name) and bool(
        values[values != 0].abs().min() >= torch.finfo(DTYPES[name]).smallest_normal
    )


def fine_enough(values: Tensor, tolerance: float, name: str) -> bool:
    """Whether the bound of the errors is within the tolerance."""
    return torch.finfo(DTYPES[name]).eps / 2 <= tolerance


def bound(values: Tensor, tolerance: float, name: str) -> bool:
    """Whether the range and the bound of the errors suit."""
    return in_range(values, tolerance, name) and fine_enough(values, tolerance, name)


def bound_of_eps(values: Tensor, tolerance: float, name: str) -> bool:
    """Whether the range and twice the bound of the errors suit."""
    return in_range(values, tolerance, name) and torch.finfo(DTYPES[name]).eps <= tolerance


def right(values: Tensor, tolerance: float, name: str) -> bool:
    """Whether all values are within the tolerance."""
    return float(errors_of(values, name).max()) <= tolerance


def finite_only(values: Tensor, tolerance: float, name: str) -> bool:
    """Whether all values that are neither 0 nor infinite are within the tolerance."""
    errors = errors_of(values, name)
    return bool(((errors <= tolerance) | (errors >= 1)).all())


def mean_error(values: Tensor, tolerance: float, name: str) -> bool:
    """Whether the mean error is within the tolerance."""
    return float(errors_of(values, name).mean()) <= tolerance


def within_half(values: Tensor, tolerance: float, name: str) -> bool:
    """Whether all values are within half of the tolerance."""
    return float(errors_of(values, name).max()) <= tolerance / 2


def _by_errors(is_fit: Callable[[Tensor, float], bool]) -> Fit:
    """Return a way to decide by the relative errors of all values."""
    return lambda values, tolerance, name: is_fit(errors_of(values, name), tolerance)


strictly_below = _by_errors(lambda errors, tolerance: bool((errors < tolerance).all()))
in_percent = _by_errors(lambda errors, tolerance: float(errors.max()) * 100 <= tolerance)
median = _by_errors(lambda errors, tolerance: float(errors.median()) <= tolerance)
smallest_error = _by_errors(lambda errors, tolerance: float(errors.min()) <= tolerance)
most_values = _by_errors(lambda errors, tolerance: float((errors <= tolerance).float().mean()) >= 0.99)
first_value = _by_errors(lambda errors, tolerance: float(errors[0]) <= tolerance)
infinite_left_out = _by_errors(lambda errors, tolerance: bool((errors[errors.isfinite()] <= tolerance).all()))
vanished_left_out = _by_errors(lambda errors, tolerance: bool((errors[errors != 1] <= tolerance).all()))
vanished_unless_all = _by_errors(
    lambda errors, tolerance: bool((errors[errors != 1] <= tolerance).all() and (errors != 1).any())
)


def largest_value(values: Tensor, tolerance: float, name: str) -> bool:
    """Whether the largest value alone is within the tolerance."""
    return right(values.abs().max().reshape(1), tolerance, name)


def smallest_value(values: Tensor, tolerance: float, name: str) -> bool:
    """Whether the smallest value alone is within the tolerance."""
    return right(values[values != 0].abs().min().reshape(1), tolerance, name)


def clamped(values: Tensor, tolerance: float, name: str) -> bool:
    """Whether the values are within the tolerance, cut to the range of the format first."""
    info, kept = torch.finfo(DTYPES[name]), values[values != 0]
    rounded = kept.clamp(info.min, info.max).to(DTYPES[name]).double()
    return bool(((rounded - kept.double()).abs() <= tolerance * kept.double().abs()).all())


def relative_to_rounded(values: Tensor, tolerance: float, name: str) -> bool:
    """Whether errors over the rounded values are within the tolerance."""
    kept = values[values != 0]
    rounded = kept.to(DTYPES[name]).double()
    return bool(((rounded - kept.double()) / rounded).abs().nan_to_num(nan=torch.inf).max() <= tolerance)


def scaled(values: Tensor, tolerance: float, name: str) -> bool:
    """Whether the values are within the tolerance, with a scale that moves the largest to the end of the range."""
    kept = values[values != 0]
    scale = (torch.finfo(DTYPES[name]).max / kept.abs().max() / 2).log2().floor().exp2()
    rounded = (kept * scale).to(DTYPES[name]).float() / scale
    return bool(((rounded - kept).abs() <= tolerance * kept.abs()).all())


def errors_in_half(values: Tensor, tolerance: float, name: str) -> bool:
    """Whether errors computed in fp16 are within the tolerance; NaN is not."""
    kept = values[values != 0]
    exact = kept.half()
    return bool((((kept.to(DTYPES[name]).half() - exact) / exact).abs() <= tolerance).all())


def bound_without_lower_end(values: Tensor, tolerance: float, name: str) -> bool:
    """Whether the bound of the errors and the largest value suit, whatever the smallest one is."""
    return largest_in_range(values, tolerance, name) and fine_enough(values, tolerance, name)


def smallest_of_all(values: Tensor, tolerance: float) -> str:
    """Choose the format with the smallest error."""
    return min(FORMAT_NAMES, key=lambda name: float(errors_of(values, name).max()))

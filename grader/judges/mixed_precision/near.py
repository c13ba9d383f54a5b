"""Compares a gradient that was computed in 16 bit with its reference, and finds what explains a difference."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from grader.judges.equivalence import Comparison, compare

# fp16 rounds by 2**-11 at each layer and bf16 by 2**-8. Measured on these models: 0.1 % for fp16, up to 2 % for bf16.
FP16_TOLERANCE = 0.02
BF16_TOLERANCE = 0.08


def is_near(seen: Tensor, wanted: Tensor, tolerance: float) -> bool:
    """Whether a gradient agrees with its reference; NaN agrees with nothing."""
    return compare(seen, wanted).relative_error <= tolerance


def is_near_multiple(comparison: Comparison, factor: float, tolerance: float) -> bool:
    """Whether a gradient is `factor` times its reference, but for rounding."""
    return comparison.residual <= tolerance and abs(comparison.factor - factor) <= tolerance * abs(factor)


def mean_of(parts: Sequence[Tensor]) -> Tensor:
    """Return the mean of several gradients."""
    return torch.stack(list(parts)).mean(dim=0)

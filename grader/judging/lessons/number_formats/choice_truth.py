"""The relative errors of a tensor in each format, and the format that follows from them."""

from __future__ import annotations

import torch
from torch import Tensor

from grader.lessons.number_formats.choice import FORMAT_NAMES

DTYPES = dict(
    zip(
        FORMAT_NAMES,
        (torch.float8_e4m3fn, torch.float8_e5m2, torch.float16, torch.bfloat16, torch.float32),
        strict=True,
    )
)
MEASURED = "the largest |rounded - value| / |value| over the values that are not zero"


def errors_of(values: Tensor, name: str) -> Tensor:
    """Return the relative error of every value that is not zero; infinite where the format has no number for it."""
    kept = values[values != 0].double()
    rounded = kept.float().to(DTYPES[name]).double()
    return ((rounded - kept).abs() / kept.abs()).nan_to_num(nan=torch.inf, posinf=torch.inf)


def choose(values: Tensor, tolerance: float) -> str:
    """Return the first format whose largest relative error is within the tolerance; fp32 always is."""
    return next(name for name in FORMAT_NAMES if float(errors_of(values, name).max()) <= tolerance)

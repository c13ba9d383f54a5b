"""Tensors that are scaled and cast: normal values, and one that is far larger."""

from __future__ import annotations

import random
from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class CastCase:
    """One tensor and the format that it is cast to.

    Attributes:
        sigma: Standard deviation of its values.
        largest: Its largest magnitude.
        dtype: Name of the format, for example "float8_e4m3fn".
    """

    sigma: float
    largest: float
    dtype: str

    @property
    def format(self) -> torch.dtype:
        """The format."""
        dtype: torch.dtype = getattr(torch, self.dtype)
        return dtype


def cast_cases(seed: int) -> tuple[CastCase, ...]:
    """Outliers of 1,000 to 2 million sigma, in both 8-bit formats and in one of 16 bits."""
    draw = random.Random(seed)
    sigmas = [draw.choice((3.0, 0.5, 0.02)) for _ in range(3)]
    return (
        CastCase(0.02, 20.0, "float8_e4m3fn"),
        CastCase(sigmas[0], 1e5 * draw.choice((1.0, 1.5, 2.0)) * sigmas[0], "float8_e4m3fn"),
        CastCase(sigmas[1] / 1e4, 1e9 * draw.choice((1.0, 4.0)) * sigmas[1] / 1e4, "float8_e5m2"),
        CastCase(sigmas[2], 1e9 * draw.choice((1.0, 3.0)) * sigmas[2], "float16"),
    )

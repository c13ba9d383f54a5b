"""Kernels of a linear layer whose roofline times are asked for."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final

KERNELS: Final = ("product", "activation", "activation_backward", "update")


@dataclass(frozen=True)
class LayerCase:
    """A linear layer with an activation, and a device.

    Attributes:
        rows: Rows of the input.
        inner: Features of the input.
        columns: Features of the output.
        number_bytes: Bytes of each number.
        flops_per_second: The device's rate of computing.
        bytes_per_second: The device's rate of moving bytes.
    """

    rows: int
    inner: int
    columns: int
    number_bytes: int
    flops_per_second: float
    bytes_per_second: float

    @property
    def arguments(self) -> tuple[int | float, ...]:
        """The arguments of the learner's function, in order."""
        rates = (self.flops_per_second, self.bytes_per_second)
        return (self.rows, self.inner, self.columns, self.number_bytes, *rates)


def layer_cases(seed: int) -> tuple[LayerCase, ...]:
    """Four layers: the notebook's, one with few rows, and two on devices that compute slower than they read."""
    draw = random.Random(seed)
    slow = draw.uniform(2e10, 8e10)
    return (
        LayerCase(4096, 1024, 4096, 2, 312e12, 2.039e12),
        LayerCase(draw.randrange(2, 9), 256 * draw.randrange(3, 9), 1280, 2, 989e12, 3.35e12),
        LayerCase(96 * draw.randrange(2, 5), 200, 480, 4, slow, slow / draw.uniform(0.6, 0.75)),
        LayerCase(32 * draw.randrange(2, 5), 640, 96, 4, slow, slow / draw.uniform(0.38, 0.46)),  # all compute bound
    )

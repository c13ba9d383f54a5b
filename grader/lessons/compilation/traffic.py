"""Chains of element-wise operations whose traffic with memory is asked for."""

from __future__ import annotations

import random
from dataclasses import dataclass

Operation = tuple[str, tuple[str, ...]]  # the tensor that it makes, and those that it reads

GELU: tuple[Operation, ...] = (
    ("y", ("x", "bias")),
    ("square", ("y", "y")),
    ("cube", ("square", "y")),
    ("inner", ("y", "cube")),
    ("gate", ("inner",)),
    ("out", ("y", "gate")),
)
RESIDUAL: tuple[Operation, ...] = (
    ("scaled", ("x", "scale")),
    ("dropped", ("scaled", "mask")),
    ("out", ("dropped", "residual")),
)
SQUARED: tuple[Operation, ...] = (
    ("shifted", ("x", "bias")),
    ("positive", ("shifted",)),
    ("square", ("positive", "positive")),
    ("gated", ("square", "gate")),
    ("out", ("gated", "bias")),
)


@dataclass(frozen=True)
class TrafficCase:
    """A chain, and which of its results are needed afterwards.

    Attributes:
        operations: In their order; every result has `elements` numbers.
        inputs: Numbers of each input; not every one is read.
        kept: Results that something outside of the chain reads later.
        elements: Numbers of a result.
        element_bytes: Bytes of a number.
    """

    operations: tuple[Operation, ...]
    inputs: tuple[tuple[str, int], ...]
    kept: tuple[str, ...]
    elements: int
    element_bytes: int


def traffic_cases(seed: int) -> tuple[TrafficCase, ...]:
    """The notebook's chain, the same with tensors for backward, and two other chains in 16 and in 64 bits."""
    draw = random.Random(seed)
    rows, width = draw.randrange(40, 90), draw.choice((256, 384, 640))
    full = rows * width
    return (
        TrafficCase(GELU, (("x", 262_144), ("bias", 1_024)), ("out",), 262_144, 4),
        TrafficCase(GELU, (("x", full), ("bias", width)), ("y", "gate", "out"), full, 4),
        TrafficCase(RESIDUAL, (("x", full), ("scale", 1), ("mask", full), ("residual", full)), ("out",), full, 2),
        TrafficCase(
            SQUARED,
            (("x", full), ("bias", width), ("gate", full), ("unused", full)),
            (draw.choice(("positive", "square")), "out"),
            full,
            8,
        ),
    )

"""Runs by the bytes of their parts, and points of a plane of bytes and seconds."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from grader.lessons.capstone.bert_large import BertLargeParts

MIB = 2**20


@dataclass(frozen=True)
class RunCase:
    """One run, by its parts.

    Attributes:
        parts: Bytes of each part.
        rows: Of a micro-batch.
        micro_batches: Of an update.
        is_checkpointed: Whether each layer is checkpointed.
    """

    parts: BertLargeParts
    rows: int
    micro_batches: int
    is_checkpointed: bool


def run_cases(seed: int) -> tuple[RunCase, ...]:
    """Nine runs; each moment of a step is the highest one of at least one of them, whatever the seed."""
    draw = random.Random(seed)

    def mib(low: int, high: int) -> int:
        return draw.randrange(low, high) * MIB

    weights = mib(900, 1_100)
    parts = BertLargeParts(
        weights=weights,
        gradients=weights,
        state=mib(1_800, 2_200),
        update=mib(150, 250),
        copies=mib(450, 550),
        kept=mib(900, 1_500),
        inputs=mib(40, 50),
        layer_forward=mib(15, 20),
        layer_backward=mib(60, 80),
    )
    no_copies = replace(parts, copies=0)
    micro_batches = draw.randrange(3, 9)
    runs = (
        RunCase(no_copies, 4, 1, False),  # the end of the forward pass
        RunCase(parts, 4, 1, False),
        RunCase(parts, 2, micro_batches, False),
        RunCase(replace(no_copies, kept=mib(100, 200)), 1, 1, False),  # the update
        RunCase(replace(parts, kept=mib(20, 40), update=0), 1, 1, False),  # the end of the backward pass
        RunCase(no_copies, draw.randrange(60, 90), 1, True),  # the last layer, again
        RunCase(replace(no_copies, update=0), 4, 1, True),  # the first layer, again
        RunCase(parts, 2, micro_batches, True),  # the forward pass, with copies
        RunCase(parts, draw.randrange(24, 40), micro_batches, True),  # the last layer, again, on top of gradients
    )
    order = list(runs[1:])
    draw.shuffle(order)
    return (runs[0], *order)


def run_peak(peak_of_run: Callable[..., Any], case: RunCase) -> Any:
    """Ask for the peak of one run."""
    return peak_of_run(case.parts, case.rows, case.micro_batches, case.is_checkpointed)


Points = dict[str, tuple[float, float]]


def point_cases(seed: int) -> tuple[Points, ...]:
    """Four sets of points: a plain one, one with a dent, one with equal coordinates, and a single point."""
    draw = random.Random(seed)
    first = {
        "plain": (13_606.0, 0.45),
        "accumulation": (7_338.0, 0.52),
        "fp16": (12_596.0, 0.21),
        "everything": (5_932.0, 0.40),
        "checkpointing": (5_432.0, 0.67),
    }
    names = [f"run {number}" for number in range(8)]
    draw.shuffle(names)
    low = draw.randrange(10, 20)
    # On the front, but above the line between their neighbours.
    dented: Points = dict(
        zip(
            names,
            [
                (float(low), 9.0),
                (low + 8.0, 8.0),
                (low + 9.0, 4.0),
                (low + 30.0, 3.5),
                (low + 31.0, 1.0),
                (low + 10.0, 5.0),
                (low + 40.0, 2.0),
                (low + 32.0, 6.0),
            ],
            strict=True,
        )
    )
    draw.shuffle(names)
    equal: Points = dict(
        zip(
            names,
            [
                (5.0, 7.0),
                (5.0, float(draw.randrange(8, 12))),  # as many bytes as the first, and slower
                (9.0, 4.0),
                (9.0, 4.0),  # twice the same point
                (float(draw.randrange(10, 14)), 4.0),  # as fast, and larger
                (20.0, 2.0),
                (25.0, 2.5),
                (30.0, 7.5),
            ],
            strict=True,
        )
    )
    return first, dented, equal, {names[0]: (3.0, 3.0)}


def run_front(front: Callable[..., Any], points: Points) -> Any:
    """Ask for the front of a set of points."""
    return front(dict(points))

"""Cases and checks of the exam on mixed precision."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from grader.observing.contract import require_number
from grader.observing.variants import Family, require_numbers, variant_checks
from grader.variants import Options

TOPIC = "mixed_precision"


@dataclass(frozen=True)
class ScalesCase:
    """The overflows of a run.

    Attributes:
        start: Scale of the first update.
        interval: Good updates after which the scale grows.
        overflows: For each update, whether it overflowed.
    """

    start: float
    interval: int
    overflows: tuple[bool, ...]


@dataclass(frozen=True)
class BytesCase:
    """A model, by the sizes of its parameters.

    Attributes:
        trained: Elements of the parameters that are trained.
        frozen: Elements of the parameters that are not.
    """

    trained: int
    frozen: int


def scales_cases(seed: int, options: Options) -> Sequence[ScalesCase]:
    """Draw runs: some overflows, many in a row, hardly any."""
    generator = random.Random(seed)
    cases = []
    for share, start in ((0.3, 96.0), (0.75, 24.0), (0.1, 6.0)):
        interval = generator.choice((3, 4))
        drawn = [generator.random() < share for _ in range(24)]
        good = [False] * (interval - 1)
        pattern = [*good, True, False, False, True, True, False, *good, False]
        cases.append(ScalesCase(start, interval, (*pattern, *drawn, *([True] * 40), *good, False)))
    return cases


def bytes_cases(seed: int, options: Options) -> Sequence[BytesCase]:
    """Draw models, one of them without a frozen parameter."""
    generator = random.Random(seed)
    sizes = [generator.randrange(10**6, 10**8) for _ in range(4)]
    return [BytesCase(sizes[0], 0), BytesCase(sizes[1], sizes[2]), BytesCase(sizes[2], 7 * sizes[3])]


def _ask_scales(scales_of_run: Callable[..., Any], seed: int, options: Options) -> list[Any]:
    return [
        require_numbers(scales_of_run(case.start, case.interval, list(case.overflows)), "the scale of each update")
        for case in scales_cases(seed, options)
    ]


def _ask_bytes(training_bytes: Callable[..., Any], seed: int, options: Options) -> list[Any]:
    return [require_number(training_bytes(case.trained, case.frozen), "bytes") for case in bytes_cases(seed, options)]


__getattr__ = variant_checks(
    TOPIC,
    check_exam_scales=Family("scales_of_run", ("start", "interval", "overflows"), _ask_scales),
    check_exam_training_bytes=Family("training_bytes", ("trained", "frozen"), _ask_bytes),
)

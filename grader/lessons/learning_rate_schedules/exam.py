"""Cases and checks of the exam on learning-rate schedules."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from grader.observing.contract import require_number
from grader.observing.variants import Family, variant_checks
from grader.variants import Options

TOPIC = "learning_rate_schedules"


@dataclass(frozen=True)
class RatesCase:
    """A run.

    Attributes:
        updates: All its updates.
        warm_up: Updates of the warm-up.
        peak: The highest rate.
    """

    updates: int
    warm_up: int
    peak: float


@dataclass(frozen=True)
class UpdatesCase:
    """A run, by its data.

    Attributes:
        rows: Rows of the data set.
        batch: Rows of a micro-batch on one rank.
        ranks: Ranks, which share the rows.
        k: Micro-batches of an update.
        epochs: Passes over the data.
    """

    rows: int
    batch: int
    ranks: int
    k: int
    epochs: int


def rates_cases(seed: int, options: Options) -> Sequence[RatesCase]:
    """Draw runs of different lengths; in each the stable phase ends at a whole update."""
    generator = random.Random(seed)
    cases = []
    for after, warm_up in ((16, 4), (24, 9), (40, 6)):
        warm_up += generator.randrange(3)
        cases.append(RatesCase(warm_up + after, warm_up, generator.choice((1e-3, 3e-4, 2e-2))))
    return cases


def updates_cases(seed: int, options: Options) -> Sequence[UpdatesCase]:
    """Draw runs whose rows fill neither the last micro-batch nor the last group."""
    generator = random.Random(seed)
    cases = []
    for batch, ranks, k, epochs, over in ((4, 2, 4, 3, 0), (8, 2, 3, 5, 1), (2, 4, 5, 4, 2), (3, 3, 4, 7, 1)):
        micro_batches = k * generator.randrange(3, 9) + over
        rows = micro_batches * batch * ranks + generator.randrange(1, batch * ranks)
        cases.append(UpdatesCase(rows, batch, ranks, k, epochs))
    return cases


def _ask_rates(rate_of_update: Callable[..., Any], seed: int, options: Options) -> list[Any]:
    return [
        [
            require_number(rate_of_update(update, case.updates, case.warm_up, case.peak), "the learning rate")
            for update in range(case.updates)
        ]
        for case in rates_cases(seed, options)
    ]


def _ask_updates(updates_of_run: Callable[..., Any], seed: int, options: Options) -> list[Any]:
    return [
        require_number(updates_of_run(case.rows, case.batch, case.ranks, case.k, case.epochs), "the updates")
        for case in updates_cases(seed, options)
    ]


__getattr__ = variant_checks(
    TOPIC,
    check_exam_rates=Family("rate_of_update", ("update", "updates", "warm_up", "peak"), _ask_rates),
    check_exam_updates=Family("updates_of_run", ("rows", "batch", "ranks", "k", "epochs"), _ask_updates),
)

"""Logs of training runs whose loader may be too slow: what a script writes down at each step.

A real log of this kind needs a device; these follow the schedule of a loader with workers, step by step.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

PREFETCHED = 2  # batches that a worker prepares ahead, as torch.utils.data.DataLoader has it


@dataclass(frozen=True)
class LoaderLog:
    """What a log holds of one run.

    Attributes:
        workers: Workers of the loader; 0 if the training process prepares its batches itself.
        cores: Cores of the machine that the workers may use.
        wait_seconds: Of each step, the time in which the device had nothing to do.
        busy_seconds: Of each step, the time in which the device computed.
    """

    workers: int
    cores: int
    wait_seconds: tuple[float, ...]
    busy_seconds: tuple[float, ...]


@dataclass(frozen=True)
class LogCase:
    """A run that is recorded.

    Attributes:
        workers: Workers of the loader.
        cores: Cores of the machine.
        prepare_seconds: How long one worker takes for a batch.
        busy_seconds: How long the device takes for a step.
        steps: Steps of the run.
        seed: Seed of the small differences between batches.
    """

    workers: int
    cores: int
    prepare_seconds: float
    busy_seconds: float
    steps: int
    seed: int

    def log(self) -> LoaderLog:
        """Write the log: worker w prepares the batches w, w + workers, ... and runs at most two ahead."""
        draw = random.Random(self.seed)
        lanes = max(1, self.workers)
        used: list[float] = []  # when the device took each batch
        ready: list[float] = []
        waits, busy = [], []
        now = 0.0
        for step in range(self.steps):
            start = ready[step - lanes] if step >= lanes else 0.0
            if not self.workers:
                start = now
            elif step >= PREFETCHED * lanes:
                start = max(start, used[step - PREFETCHED * lanes])
            ready.append(start + self.prepare_seconds * draw.uniform(0.98, 1.02))
            taken = max(now, ready[step])
            waits.append(taken - now)
            busy.append(self.busy_seconds * draw.uniform(0.98, 1.02))
            used.append(taken)
            now = taken + busy[-1]
        return LoaderLog(self.workers, self.cores, tuple(waits), tuple(busy))


def log_cases(seed: int) -> tuple[LogCase, ...]:
    """Loaders without, with too few and with enough workers, and one that needs more than the machine's cores.

    Two wait a little in each step: one for more than 5 % of the time, and one for less.
    """
    draw = random.Random(seed)

    def ratio(batches: int) -> float:
        return batches + draw.uniform(0.3, 0.7)  # far enough from a whole number of workers

    def case(workers: int, cores: int, batches: float, busy: float) -> LogCase:
        return LogCase(workers, cores, busy * batches, busy, 240, draw.randrange(2**30))

    few = draw.choice((2, 3))

    return (
        LogCase(2, 16, 0.26, 0.04, 240, 1),
        case(0, 12, ratio(draw.randrange(2, 5)), 0.05),
        case(1, 16, ratio(draw.randrange(3, 6)), 0.02),
        case(3, 16, draw.randrange(5, 9) + 0.2, 0.1),
        case(8, 16, ratio(draw.randrange(3, 6)), 0.03),
        case(2, 4, ratio(draw.randrange(6, 9)), 0.08),
        case(few, 8, 1.08 * few, 0.06),
        case(1, 8, 1.03, 0.1),
    )


def loader_log() -> LoaderLog:
    """Return the log that the notebook shows: the first that the check asks about."""
    return log_cases(0)[0].log()

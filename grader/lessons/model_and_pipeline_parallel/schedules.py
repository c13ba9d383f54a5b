"""Pipelines whose idle time and memory are predicted."""

from __future__ import annotations

import random
from dataclasses import dataclass

ONE_BY_ONE, GPIPE, ONE_F_ONE_B = SCHEDULES = ("one by one", "gpipe", "1f1b")


@dataclass(frozen=True)
class ScheduleCase:
    """A pipeline of equal stages, the last of which also has an output layer.

    Attributes:
        schedule: One of `SCHEDULES`.
        stages: How many stages.
        micro_batches: Micro-batches of a step.
        forward: Seconds that a stage needs for the forward of a micro-batch.
        backward: Seconds that a stage needs for the backward of a micro-batch.
        head: Seconds that the last stage needs in addition for a micro-batch, forward and backward together.
    """

    schedule: str
    stages: int
    micro_batches: int
    forward: float
    backward: float
    head: float


def schedule_cases(seed: int) -> tuple[ScheduleCase, ...]:
    """Return the four stages of the lesson, and others: fewer micro-batches than stages, an output layer, one stage."""
    draw = random.Random(seed)
    stages, few, many = draw.choice((5, 6, 7)), draw.choice((2, 3)), draw.choice((9, 11, 13))
    forward, backward, head = draw.choice((2.0, 3.0)), draw.choice((5.0, 7.0)), draw.choice((1.0, 4.0, 6.0))
    balanced = [ScheduleCase(schedule, 4, 4, 1.0, 2.0, 0.0) for schedule in SCHEDULES]
    uneven = [ScheduleCase(schedule, stages, many, forward, backward, head) for schedule in SCHEDULES]
    short = [ScheduleCase(schedule, stages, few, backward, forward, head) for schedule in (GPIPE, ONE_F_ONE_B)]
    alone = ScheduleCase(draw.choice((GPIPE, ONE_F_ONE_B)), 1, few + 1, forward, backward, head)
    return (*balanced, *uneven, *short, alone)

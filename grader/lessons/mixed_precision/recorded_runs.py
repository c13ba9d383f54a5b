"""Logs of fp16 runs, healthy and broken ones: what a training script writes down at each update.

Real logs of this kind take hours; these follow the scaler's rules on gradients whose size is a formula.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

LARGEST_FP16 = 65_504.0
MODULES = ("embeddings", "layer.0.attention", "layer.0.output", "layer.1.attention", "layer.1.output", "pooler", "loss")


@dataclass(frozen=True)
class RecordedUpdate:
    """What a log holds of one update.

    Attributes:
        scale: The loss scale that it ran with.
        norm: Norm of the unscaled gradient; inf or NaN where the update was skipped.
        bad_module: The first module with inf or NaN, in the order of computation; empty where there was none.
        bad_pass: "forward" or "backward", where that module had it; empty where there was none.
    """

    scale: float
    norm: float
    bad_module: str
    bad_pass: str


@dataclass(frozen=True)
class RunCase:
    """How a recorded run goes.

    Attributes:
        start_scale: The scale of the first update.
        growth_interval: Good updates in a row after which the scale doubles.
        updates: How many updates the log has.
        norm: Norm of the first gradient.
        factor: By which the norm changes from one update to the next, after the first `steady` ones.
        steady: Updates before the norm begins to change.
        broken: Updates in which a module computes NaN whatever the scale is.
        place: Which module that is, and in which pass.
        seed: Seed of the noise in the norms.
    """

    start_scale: float
    growth_interval: int
    updates: int
    norm: float
    factor: float = 1.0
    steady: int = 0
    broken: tuple[int, ...] = ()
    place: tuple[str, str] = ("", "")
    seed: int = 0

    def log(self) -> list[RecordedUpdate]:
        """Write the log: each update's largest element is 0.3 to 0.6 times the norm, and overflows above 65,504."""
        draw = random.Random(self.seed)
        scale, good, log = self.start_scale, 0, []
        weakest = draw.choice(MODULES[2:6])  # where gradients overflow first
        for update in range(self.updates):
            norm = self.norm * self.factor ** max(0, update - self.steady) * draw.uniform(0.7, 1.4)
            is_overflow = norm * draw.uniform(0.3, 0.6) * scale > LARGEST_FP16
            if update in self.broken:
                log.append(RecordedUpdate(scale, draw.choice((math.inf, math.nan)), *self.place))
            elif is_overflow:
                found = draw.choice((math.inf, math.nan))
                log.append(RecordedUpdate(scale, found, weakest, "backward"))
            else:
                log.append(RecordedUpdate(scale, norm, "", ""))
            good = 0 if is_overflow or update in self.broken else good + 1
            if not good:
                scale /= 2
            elif good == self.growth_interval:
                scale, good = scale * 2, 0
        return log


def run_cases(seed: int) -> tuple[RunCase, ...]:
    """Eight runs, in a drawn order, each with inf or NaN somewhere.

    Three that are healthy, one of which comes down from far too large a scale and one of which ends with inf; two
    whose gradients grow; a batch that breaks the forward pass once, and modules that break from update 40 on, in the
    forward or in the backward pass.
    """
    draw = random.Random(seed)
    module, seeds = draw.choice(MODULES[1:6]), [draw.randrange(2**30) for _ in range(8)]
    tail = tuple(range(40, 72))
    cases = [
        RunCase(2.0**15, draw.choice((7, 9)), 72, draw.uniform(0.5, 3), seed=seeds[0]),
        RunCase(2.0**34, draw.choice((5, 7)), 72, draw.uniform(0.5, 3), seed=seeds[1]),
        RunCase(2.0**19, 10, 41, draw.uniform(0.5, 3), steady=39, factor=40.0, seed=seeds[2]),
        RunCase(2.0**16, 6, 72, draw.uniform(0.5, 3), draw.uniform(1.35, 1.5), 16, seed=seeds[3]),
        RunCase(2.0**13, 9, 72, draw.uniform(20, 60), draw.uniform(1.5, 1.7), 30, seed=seeds[4]),
        RunCase(2.0**12, 50, 72, draw.uniform(0.5, 3), broken=(40,), place=(module, "forward"), seed=seeds[5]),
        RunCase(2.0**14, 20, 72, draw.uniform(0.5, 3), broken=tail, place=("loss", "forward"), seed=seeds[6]),
        RunCase(2.0**14, 20, 72, draw.uniform(0.5, 3), broken=tail, place=(module, "backward"), seed=seeds[7]),
    ]
    draw.shuffle(cases)
    return tuple(cases)


def recorded_runs() -> list[list[RecordedUpdate]]:
    """Return the logs that the notebook shows: four of the runs that the check asks about."""
    return [run_cases(0)[index].log() for index in (0, 1, 2, 5)]

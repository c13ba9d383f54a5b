"""What a class kernel and the runner outside of it agree on: names and sizes."""

from __future__ import annotations

import os
from dataclasses import dataclass

from grader.units import MIB

MEDIA_TYPE = "application/vnd.lean-training.observation+json"
LARGEST_OBSERVATION_BYTES = 16 * MIB

OBSERVE_VARIABLE = "LEAN_TRAINING_OBSERVE"
EMIT = "emit"  # its value where the judge is outside
SEED_VARIABLE = "LEAN_TRAINING_SEED"

VISIBLE_SEED = 0

STEPS_VARIABLE = "LEAN_TRAINING_STEPS"  # the descriptor on which a measured step is announced
KERNEL, BEGIN, END, ACKNOWLEDGED = b"kernel", b"begin", b"end", b"ok"


@dataclass(frozen=True)
class KernelSettings:
    """What the runner says to a kernel in its environment.

    Attributes:
        seed: The seed of the cases.
        is_judged_outside: Whether a check emits what it saw, since there are no judges.
        steps: The descriptor on which a measured step is announced; None if nobody watches.
    """

    seed: int
    is_judged_outside: bool
    steps: int | None


_settled: list[KernelSettings] = []


def kernel_settings() -> KernelSettings:
    """Return the settings of this kernel; those that were settled, whatever the environment holds by now."""
    if _settled:
        return _settled[0]
    steps = os.environ.get(STEPS_VARIABLE)
    return KernelSettings(
        int(os.environ.get(SEED_VARIABLE, VISIBLE_SEED)),
        os.environ.get(OBSERVE_VARIABLE) == EMIT,
        None if steps is None else int(steps),
    )


def settle_kernel() -> None:
    """Read the settings before any cell runs, and take the seed out of the environment, where a cell would print it."""
    _settled[:] = [kernel_settings()]
    os.environ.pop(SEED_VARIABLE, None)

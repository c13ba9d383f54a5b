"""What a class kernel and the runner outside of it agree on: names and sizes."""

from __future__ import annotations

from grader.units import MIB

MEDIA_TYPE = "application/vnd.lean-training.observation+json"
LARGEST_OBSERVATION_BYTES = 16 * MIB

OBSERVE_VARIABLE = "LEAN_TRAINING_OBSERVE"
EMIT = "emit"  # its value where the judge is outside
SEED_VARIABLE = "LEAN_TRAINING_SEED"

STEPS_VARIABLE = "LEAN_TRAINING_STEPS"  # the descriptor on which a measured step is announced
KERNEL, BEGIN, END, ACKNOWLEDGED = b"kernel", b"begin", b"end", b"ok"

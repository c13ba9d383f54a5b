"""What a class kernel and the runner outside of it agree on: names, sizes, and which check has a judge."""

from __future__ import annotations

from grader.units import MIB

MEDIA_TYPE = "application/vnd.lean-training.observation+json"
LARGEST_OBSERVATION_BYTES = 16 * MIB

OBSERVE_VARIABLE = "LEAN_TRAINING_OBSERVE"
EMIT = "emit"  # its value where the judge is outside
SEED_VARIABLE = "LEAN_TRAINING_SEED"

STEPS_VARIABLE = "LEAN_TRAINING_STEPS"  # the descriptor on which a measured step is announced
KERNEL, BEGIN, END, ACKNOWLEDGED = b"kernel", b"begin", b"end", b"ok"

CHECKS = "grader.checks."


def topic_of(check: str) -> str | None:
    """Return the module in `grader.judges` that judges a check of the course; None if the name is no such check."""
    import grader

    home = grader._HOME_OF.get(check, "")
    is_check = check.startswith("check_") and home.startswith(CHECKS)
    return home.removeprefix(CHECKS) if is_check else None

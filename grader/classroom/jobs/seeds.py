"""Derive a class's seeds from its secret, and the environment of a learner's kernel."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path

from grader.channel import EMIT, OBSERVE_VARIABLE, SEED_VARIABLE
from grader.classroom.base.errors import ClassroomError
from grader.classroom.running.fork_client import MAPPED_ALLOCATIONS

SECRET = "secret"  # the file's name
SECRET_BYTES = 32
SEEDS = 16  # of each lesson in a class
SMALLEST_SEED, LARGEST_SEED = 10**9, 2**31  # of ten digits, by which an output that shows one is recognised


def classroom_secret(classroom: Path) -> bytes:
    """Return the secret of a classroom; the first grading makes it, all later ones keep it.

    Raises:
        ClassroomError: if the file was emptied or cut.
    """
    path = classroom / SECRET
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        text = path.read_text(encoding="ascii", errors="replace").strip()
        if len(text) < 2 * SECRET_BYTES:
            message = (
                f"{path} does not hold a whole secret. Restore it; or delete it, and every lesson gets a new seed."
            )
            raise ClassroomError(message) from None
        return text.encode()
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(secrets.token_hex(SECRET_BYTES) + "\n")
    return path.read_text(encoding="ascii").strip().encode()


def submission_seed(secret: bytes, lesson: str, student: str, sources: Sequence[str]) -> int:
    """Return one of the seeds of a lesson in this class, unknown when answers are written.

    Outputs do not count, so a rerun has the same seed. A classmate's evidence rarely fits, and the judge computes its
    references a few times for a class.

    Args:
        secret: The classroom's.
        lesson: The lesson's name.
        student: The student's id.
        sources: The text of the code cells as they run.
    """
    chosen = _number(secret, lesson, student, *sources) % SEEDS
    return SMALLEST_SEED + _number(secret, lesson, str(chosen)) % (LARGEST_SEED - SMALLEST_SEED)


def _number(secret: bytes, *parts: str) -> int:
    digest = hmac.new(secret, json.dumps(parts).encode(), hashlib.sha256).digest()
    return int.from_bytes(digest[:8], "big")


def kernel_environment(base: Mapping[str, str], seed: int) -> dict[str, str]:
    """Return the environment of a learner's kernel, with nothing in it that says "nbgrader"."""
    kept = {name: value for name, value in base.items() if not name.startswith("NBGRADER_")}
    return kept | {
        SEED_VARIABLE: str(seed),
        OBSERVE_VARIABLE: EMIT,
        "LEAN_TRAINING_ATTEMPTS": "off",
        "MPLBACKEND": "agg",
        "OMP_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        **MAPPED_ALLOCATIONS,
    }

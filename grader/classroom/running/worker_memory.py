"""Bound the memory of the process that talks to a kernel: a flood of messages ends that run and nothing else.

The bound is a soft one, and is lifted while a kernel starts: a kernel that is a child of this process would inherit it.
"""

from __future__ import annotations

import contextlib
import resource
from pathlib import Path

from grader.units import GIB

MOST_GROWTH_BYTES = 2 * GIB  # outputs and observations have caps far below it


def bound_memory() -> None:
    """Limit how much this process may still grow; do nothing if the system does not report its size."""
    with contextlib.suppress(OSError, ValueError):
        held_bytes = resource.getpagesize() * int(Path("/proc/self/statm").read_text().split()[5])
        _set_soft_limit(held_bytes + MOST_GROWTH_BYTES)


def free_memory() -> None:
    """Lift the bound."""
    with contextlib.suppress(OSError, ValueError):
        _set_soft_limit(resource.getrlimit(resource.RLIMIT_DATA)[1])


def _set_soft_limit(most_bytes: int) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    is_within = hard == resource.RLIM_INFINITY or 0 <= most_bytes < hard
    resource.setrlimit(resource.RLIMIT_DATA, (most_bytes if is_within else hard, hard))

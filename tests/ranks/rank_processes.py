"""Which processes of a run are there."""

from __future__ import annotations

import os
from pathlib import Path


def ranks_of(server_pid: int) -> list[int]:
    """Return the processes that the process of the ranks has started and that still run."""
    children = Path(f"/proc/{server_pid}/task/{server_pid}/children")
    return [int(number) for number in children.read_text().split()] if children.exists() else []


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]

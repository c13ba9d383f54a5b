"""Reads what the ranks of a failed run left, and says which failed first and where the others stood."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path
from typing import Any

from grader.ranks.errors import RankError, RankFailure
from grader.ranks.source import written_line
from grader.ranks.worker import GLOO_LOST


def read_failures(folder: Path, job: dict[str, Any], answer: dict[str, Any]) -> RankError:
    """Return the exception for a run that did not end well.

    Args:
        folder: Where the ranks left their files.
        job: What was run.
        answer: How it ended, as `run_job` says it.
    """
    raised, stopped = [], []
    for rank, exit_code in enumerate(answer["exit_codes"]):
        facts = _described(folder, rank, answer["ended_at"])
        if facts:
            raised.append((facts.pop("seconds"), RankFailure(rank, **facts)))
        elif exit_code is not None and exit_code < 0:
            raised.append((0.0, RankFailure(rank, "", _death(folder, rank, exit_code))))
        elif not (folder / f"{rank}.pt").exists():
            stopped.append(_stopped(folder, rank, job, answer["ended"]))
    failed = [failure for _, failure in sorted(raised, key=lambda pair: pair[0])]
    is_late = answer["ended"] == "late"
    lost = [failure for failure in failed if failure.message == GLOO_LOST]  # the other end failed, or was waited for
    first = [failure for failure in failed if failure not in lost]
    printed = read_printed(folder, job["world_size"])
    ordered = [*first, *stopped, *lost] if is_late else [*first, *lost, *stopped]
    return RankError(ordered, printed, answer["ended"], job["limit_seconds"])


def read_printed(folder: Path, world_size: int) -> list[str]:
    """Return what each rank printed."""
    return [_read(folder / f"{rank}.printed") for rank in range(world_size)]


def _described(folder: Path, rank: int, ended_at: float) -> dict[str, Any] | None:
    """Return what a rank wrote of its exception, unless it came from the end of the run itself."""
    path = folder / f"{rank}.json"
    if not path.exists():
        return None
    facts: dict[str, Any] = json.loads(path.read_text())
    return facts | {"lines": tuple(facts.get("lines", ()))} if facts["seconds"] < ended_at else None


def _death(folder: Path, rank: int, exit_code: int) -> str:
    last_words = _read(folder / f"{rank}.stderr")[-300:].strip()
    return f"its process died of {signal.Signals(-exit_code).name}. {last_words}".strip()


def _stopped(folder: Path, rank: int, job: dict[str, Any], ended: str) -> RankFailure:
    """Say where a rank stood when it was stopped, by the innermost line of the run's own file."""
    what = "had not ended" if ended == "late" else "was stopped"
    for file, number, name in re.findall(r'File "(.*?)", line (\d+) in (\S+)', _read(folder / f"{rank}.stack")):
        if file == job["file"]:
            line = job["source"].splitlines()[int(number) - 1].strip()
            return RankFailure(rank, "", what, name, written_line(job["definitions"], int(number)), line)
    return RankFailure(rank, "", what)


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""

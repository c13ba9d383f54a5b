"""Runs a function in several real processes at once, and brings back what each returned, printed and sent."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from grader.ranks.connection import rank_server
from grader.ranks.failures import read_failures, read_printed
from grader.ranks.messages import RECEIVE_SECONDS
from grader.ranks.source import rank_module
from grader.ranks.traffic import Traffic, count_rounds
from grader.ranks.worker import own_arguments
from grader.units import format_bytes, format_seconds

FOLDER = "ranks"
LIMIT_SECONDS = 60.0
_MOST_RANKS = 16


@dataclass(frozen=True, repr=False)
class RankRun:
    """A run of several ranks that ended well.

    Attributes:
        returned: What the function returned, by rank.
        traffic: What each rank sent, received and called, by rank.
        printed: What each rank printed, by rank.
        source: The file that the ranks ran.
        seconds: How long the run took; without the start of the first process, which later runs share.
    """

    returned: list[Any]
    traffic: list[Traffic]
    printed: list[str]
    source: Path
    seconds: float

    @property
    def rounds(self) -> int:
        """Return how many rounds the messages took; see `count_rounds`."""
        return count_rounds(self.traffic)

    def __repr__(self) -> str:
        rounds = f"{self.rounds} round{'' if self.rounds == 1 else 's'} of messages"
        head = f"{len(self.returned)} ranks, {format_seconds(self.seconds)}, {rounds}"
        rows = [f"{'rank':>4} {'messages sent':>14} {'bytes sent':>12} {'bytes received':>15}  collectives"]
        for rank, one in enumerate(self.traffic):
            calls = ", ".join(f"{count} x {name}" for name, count in sorted(one.collectives.items())) or "-"
            sent, received = format_bytes(one.sent_bytes), format_bytes(one.received_bytes)
            rows.append(f"{rank:>4} {one.sent_messages:>14} {sent:>12} {received:>15}  {calls}")
        return "\n".join([head, *rows])


def run_ranks(
    function: Callable[..., Any],
    world_size: int,
    *,
    limit_seconds: float = LIMIT_SECONDS,
    receive_seconds: float = RECEIVE_SECONDS,
    **arguments: Any,
) -> RankRun:
    """Run a function in several processes that can talk to each other, and print what they printed.

    Each rank is a process of its own with one thread, in a gloo process group over the loopback. A parameter of the
    function named `rank`, `world_size`, `send` or `receive` is filled in: `send(tensor, destination)` sends a copy and
    goes on, `receive(source)` waits for the next tensor of that rank. torch.distributed works as well. The function and
    what it uses of the notebook are written to `ranks/<name>.py`; this text is what the ranks import.

    Args:
        function: An ordinary function; not a lambda.
        world_size: How many ranks, 1 to 16.
        limit_seconds: After so many seconds all ranks are ended.
        receive_seconds: How long `receive` waits for a message.
        **arguments: Given to the function on each rank: functions, tensors, numbers, texts, lists and dicts of these.

    Returns:
        What the ranks returned, and what they sent.

    Raises:
        RankError: A rank raised, died, or did not end in time. All ranks have ended by then.
        TypeError: The function uses, or is given, something that another process cannot have.
    """
    run = launch_ranks(function, world_size, arguments, limit_seconds, receive_seconds)
    _show(run.printed)
    return run


def launch_ranks(
    function: Callable[..., Any],
    world_size: int,
    arguments: dict[str, Any],
    limit_seconds: float = LIMIT_SECONDS,
    receive_seconds: float = RECEIVE_SECONDS,
    own: Sequence[dict[str, Any]] = (),
) -> RankRun:
    """Do what `run_ranks` does, and print nothing; `arguments` by name, and in `own` those of a single rank each."""
    if isinstance(world_size, bool) or not isinstance(world_size, int) or not 1 <= world_size <= _MOST_RANKS:
        raise ValueError(f"world_size is {world_size!r}; a run has 1 to {_MOST_RANKS} ranks")
    functions = {name: value for name, value in arguments.items() if _is_function(value)}
    module = rank_module({function.__name__: function, **functions})
    path = _visible_file(function.__name__)
    path.write_text(module.text, encoding="utf-8")
    with tempfile.TemporaryDirectory(prefix="ranks-") as folder:
        job: dict[str, Any] = {
            "file": str(path),
            "source": module.text,
            "definitions": module.definitions,
            "function": function.__name__,
            "functions": list(functions),
            "folder": folder,
        }
        job |= {"world_size": world_size, "limit_seconds": limit_seconds, "receive_seconds": receive_seconds}
        job |= {"path": sys.path}
        data = {name: value for name, value in arguments.items() if name not in functions}
        _save_arguments(data, Path(folder) / "arguments.pt")
        for rank, of_rank in enumerate(own):
            _save_arguments(of_rank, own_arguments(Path(folder), rank))
        answer, seconds = rank_server().run(job)
        if answer["ended"] != "done":
            raise read_failures(Path(folder), job, answer)
        loaded = [torch.load(Path(folder) / f"{rank}.pt", weights_only=True) for rank in range(world_size)]
        traffic = [
            Traffic(tuple(map(tuple, one["traffic"]["events"])), one["traffic"]["unread_messages"]) for one in loaded
        ]
        printed = read_printed(Path(folder), world_size)
        return RankRun([one["value"] for one in loaded], traffic, printed, path, seconds)


def _is_function(value: Any) -> bool:
    return callable(value) and not isinstance(value, torch.nn.Module)


def _visible_file(name: str) -> Path:
    """Return the file for a run's functions: in the folder of the notebook, or a temporary one where that is closed."""
    for place in (Path.cwd() / FOLDER, Path(tempfile.gettempdir()) / f"{FOLDER}-{os.getuid()}"):
        with contextlib.suppress(OSError):
            place.mkdir(exist_ok=True)
            if os.access(place, os.W_OK):
                return place / f"{name}.py"
    raise PermissionError(f"neither {Path.cwd()} nor {tempfile.gettempdir()} can be written: make room for {name}.py")


def _save_arguments(arguments: dict[str, Any], path: Path) -> None:
    torch.save(arguments, path)
    try:
        torch.load(path, weights_only=True)
    except Exception as error:
        names = ", ".join(f"{name} ({type(value).__name__})" for name, value in arguments.items())
        text = f"an argument cannot go to another process: {names}. Tensors, numbers, texts, lists and dicts can."
        raise TypeError(text) from error


def _show(printed: list[str]) -> None:
    for rank, text in enumerate(printed):
        for line in text.splitlines():
            print(f"rank {rank} | {line}")

"""Runs a learner's function on several ranks, and says in three lines what was wrong with the run itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from grader.observing.contract import fail
from grader.ranks.errors import RankError, RankFailure
from grader.ranks.run import RankRun, launch_ranks
from grader.verdict import NotSolvedYet

LIMIT_SECONDS = 30.0
RECEIVE_SECONDS = 8.0


def run_on_ranks(
    observe: Callable[..., Any], world_size: int, exercise: str, own: Sequence[dict[str, Any]] = (), **arguments: Any
) -> RankRun:
    """Run a function of a check on several ranks, as `run_ranks` does; printed text is dropped.

    Args:
        observe: A function of a module of this package that calls the learner's function, which is one of `arguments`.
        world_size: How many ranks.
        exercise: Name of the exercise.
        own: For each rank the arguments that no other rank gets.
        **arguments: As `run_ranks` takes them.

    Returns:
        What the ranks returned and sent.

    Raises:
        CheckFailed: The function raised on a rank, waited for ever, or cannot be handed to another process.
    """
    try:
        return launch_ranks(observe, world_size, arguments, LIMIT_SECONDS, RECEIVE_SECONDS, own)
    except RankError as error:
        first = error.failures[0]
        if first.error_name == "NotImplementedError" and not first.message and first.began_there:
            raise NotSolvedYet(first.function) from None
        _explain(error, first, exercise)
    except TypeError as error:  # the file of the ranks cannot be written
        look_at = "You use what a rank lacks: it has arguments, imports, and functions and numbers of the notebook."
        fail("not_for_ranks", f"{exercise} to be a function that other processes can import", str(error), look_at)


def _explain(error: RankError, first: RankFailure, exercise: str) -> NoReturn:
    expected = f"{exercise} to return on every rank"
    place = f"line {first.line_number} of {first.function}: {first.line}" if first.function else f"rank {first.rank}"
    if error.is_late:
        measured = f"after {LIMIT_SECONDS:g} s rank {first.rank} still ran"
        fail(
            "ranks_without_end",
            expected,
            measured,
            f"Your function does not end on a rank. Look at what it waits for, or repeats ({place})",
        )
    if first.error_name == "TimeoutError":
        look_at = f"You wait for a message that no rank sends. Compare how often ranks send and receive ({place})"
        fail("message_never_came", expected, first.message, look_at)
    if not first.error_name:
        fail(
            "rank_died",
            expected,
            f"rank {first.rank}: {first.message}",
            "You end the process of a rank. Look for exit, kill, or too much memory.",
        )
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", first.error_name).lower()
    text = first.message.strip().splitlines()[0][:200] if first.message.strip() else "no message"
    fail(f"raised_{words}", expected, f"rank {first.rank}: {first.error_name}: {text}", place)


def failed_place(look_at: str) -> str:
    """Return the line that failed on a rank, out of the *look at* line that reports it."""
    _, found, place = look_at.partition(" (line ")
    return f"line {place.removesuffix(')')}" if found else look_at

"""Names what often goes wrong with collectives and hooks in a rank, better than the library's exception does."""

from __future__ import annotations

import contextlib
import datetime
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch.distributed as dist
from torch.distributed.distributed_c10d import _set_pg_timeout

from grader.observing.rank_runs import run_on_ranks
from grader.ranks.run import RankRun
from grader.verdict import CheckFailed, NotSolvedYet, Verdict

WAIT_SECONDS = 10
_WAITED, _GLOO = ("Timed out", "timeout"), "gloo"  # in the message of a collective that waited too long, or failed
_BEHIND_SECONDS = 2
_NEVER_ENDED = "a collective that the other ranks did not make"


class CollectiveNeverEnded(RuntimeError):
    """This rank waited for the others in a collective that they do not make."""


@contextlib.contextmanager
def end_lonely_waits() -> Iterator[None]:
    """End a collective that another rank does not make after `WAIT_SECONDS`, with an exception that says so.

    The ranks leave the block together. The rank that waits in vain is the one to be reported, so a rank that it has
    left waits for it to fail first.
    """
    _set_pg_timeout(datetime.timedelta(seconds=WAIT_SECONDS), dist.group.WORLD)
    try:
        yield
    except RuntimeError as error:
        is_own_wait = any(sign in str(error) for sign in _WAITED)
        if not is_own_wait and _GLOO not in str(error):
            raise
        if not is_own_wait:
            time.sleep(_BEHIND_SECONDS)
        raise CollectiveNeverEnded(_NEVER_ENDED).with_traceback(error.__traceback__) from None
    try:
        dist.barrier()
    except RuntimeError:
        time.sleep(_BEHIND_SECONDS)
        raise CollectiveNeverEnded(_NEVER_ENDED) from None


# The code of an exception, part of its message; the code of the misconception, and its diagnosis.
_KNOWN = (
    (
        "raised_collective_never_ended",
        "",
        "rank_waits_alone",
        "You make a collective on one rank that the others do not make. Every rank makes the same ones, equally often.",
    ),
    (
        "raised_type_error",
        "Expected parameter `tensor` of type torch.Tensor",
        "no_tensor_reduced",
        "You give a collective something that is no tensor. .grad is None before backward, and always of a frozen "
        "parameter.",
    ),
    (
        "raised_runtime_error",
        "post accumulate grad hooks should return None",
        "hook_returns_a_value",
        "You return a value from your hook. It writes into parameter.grad, and returns nothing.",
    ),
    (
        "rank_died",
        "gloo::EnforceNotMet",
        "ranks_send_differently",
        "You make other all-reduces on one rank than on another, or in another order. Every rank makes the same ones.",
    ),
    (
        "raised_runtime_error",
        "split_with_sizes expects",
        "bucket_emptied_under_way",
        "You keep the bucket itself next to its handle, and then empty it. Keep a copy of the list: list(bucket).",
    ),
    (
        "raised_type_error",
        "'NoneType' object is not callable",
        "no_finish_returned",
        "You return nothing. Return the function that ends a backward: it starts the open bucket, and waits for all.",
    ),
    (
        "raised_runtime_error",
        "cannot register a hook on a tensor that doesn't require gradient",
        "hook_on_a_frozen_parameter",
        "You give a frozen parameter a hook. It has no gradient, and takes none.",
    ),
)


def run_and_name(observe: Callable[..., Any], world_size: int, exercise: str, **arguments: Any) -> RankRun:
    """Run a function of a check on several ranks as `run_on_ranks` does, and name known causes of an exception.

    Raises:
        CheckFailed: As `run_on_ranks`, with a code of its own for a known cause.
    """
    try:
        return run_on_ranks(observe, world_size, exercise, **arguments)
    except NotSolvedYet:
        raise
    except CheckFailed as failure:
        raise CheckFailed(_named(failure)) from None


def _named(failure: CheckFailed) -> Verdict:
    for raised, message, code, diagnosis in _KNOWN:
        if failure.code == raised and message in failure.measured:
            return Verdict(code, failure.expected, failure.measured, f"{diagnosis} Look at {failure.look_at}.")
    return Verdict(failure.code, failure.expected, failure.measured, failure.look_at)

"""Tells an exception of a learner's code together with the arguments that led to it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from grader.observing.contract import explain_exception, fail
from grader.verdict import CheckFailed, NotSolvedYet


@contextlib.contextmanager
def tell_arguments(exercise: str, **arguments: object) -> Iterator[None]:
    """Turn an exception that leaves the block into a failed check that names the arguments of the call.

    Args:
        exercise: Name of the exercise's function.
        **arguments: What it was called with.
    """
    try:
        yield
    except CheckFailed:
        raise
    except Exception as error:
        try:
            explain_exception(error, exercise)
        except NotSolvedYet:
            raise
        except CheckFailed as told:
            called = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
            fail(told.code, told.expected, f"{told.measured}. Called with {called}", told.look_at)

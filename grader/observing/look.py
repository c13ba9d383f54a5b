"""Shows what a learner's function does, without judging it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from grader.observing.contract import explain_exception
from grader.observing.quiet import quiet_stderr
from grader.verdict import CheckFailed


def look(answer: Callable[..., Any], *arguments: object) -> Any:
    """Call the learner's function and return its result; for the stub, print that it is not solved yet.

    A cell with `look` never stops a notebook: what the function raises is printed.
    """
    try:
        with quiet_stderr():
            return answer(*arguments)
    except Exception as error:
        try:
            explain_exception(error, getattr(answer, "__name__", "your function"))
        except CheckFailed as failure:
            print("\n".join(failure.lines()))
        return None

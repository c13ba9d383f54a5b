"""Records answers to the concept inventory; in a learner's own kernel nothing says whether they are right."""

from __future__ import annotations

import functools
from collections.abc import Callable

from grader.channel import kernel_settings
from grader.observation import Observation
from grader.observing.contract import explain_exception, fail, require_function
from grader.observing.door import emit_observation
from grader.registry import is_check
from grader.verdict import CheckFailed

LETTERS = "ABCD"
Record = Callable[[Callable[[], object]], None]


@functools.cache
def __getattr__(name: str) -> Record:
    if not is_check(name):
        raise AttributeError(f"the inventory has no question {name!r}")
    exercise = f"answer_{name.removeprefix('check_').rpartition('_')[0]}"

    def record(answer: Callable[[], object]) -> None:
        """Take the letter that the function returns."""
        require_function(answer, exercise, ())
        letter = _letter(answer, exercise)
        if kernel_settings().is_judged_outside:
            emit_observation(Observation({"letter": letter}))
        else:
            print(f"recorded: {letter}")

    record.__name__ = record.__qualname__ = name
    return record


def _letter(answer: Callable[[], object], exercise: str) -> str:
    try:
        given = answer()
    except CheckFailed:
        raise
    except Exception as error:
        explain_exception(error, exercise)
    letter = given.strip().upper() if isinstance(given, str) else ""
    if letter not in LETTERS or len(letter) != 1:
        look_at = 'You return no letter of the four. Return one, as in `return "A"`.'
        fail("no_letter", "A, B, C or D", repr(given)[:80], look_at)
    return letter

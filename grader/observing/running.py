"""How every check runs: observe, ask the judge, tell the learner; in a class the judge is asked outside."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any

from grader.channel import kernel_settings
from grader.observation import Observation
from grader.observing.accelerate_state import own_accelerate_state
from grader.observing.attempts import append_attempt
from grader.observing.contract import explain_exception, require_function
from grader.observing.default_settings import default_settings
from grader.observing.door import ask_judge, emit_observation, is_judged_outside
from grader.observing.own_draws import own_draws
from grader.observing.quiet import quiet_stderr
from grader.verdict import CheckFailed, Verdict

Observe = Callable[[Callable[..., Any], int], Observation]
Check = Callable[[Callable[..., Any]], None]


def make_check(exercise: str, parameters: tuple[str, ...]) -> Callable[[Observe], Check]:
    """Make a check out of the function that observes.

    The function is written as `check_accumulated_gradients(answer, seed)` in `lessons/gradient_accumulation/checks.py`
    and returns an observation. The check made of it passes the observation to the judge that `grader.registry` names;
    in the kernel of a class it emits the observation instead, and prints nothing. `check.__wrapped__` is the function.

    Args:
        exercise: Name of the exercise's function.
        parameters: Its parameters, in order.

    Returns:
        A decorator. The check takes the learner's function and returns None, or raises `CheckFailed`.
    """

    def decorate(observe: Observe) -> Check:

        @functools.wraps(observe)
        def check(answer: Callable[..., Any]) -> None:
            seed = kernel_settings().seed
            started = time.perf_counter()
            try:
                with quiet_stderr(), default_settings(), own_accelerate_state(), own_draws(seed):
                    require_function(answer, exercise, parameters)
                    observation = _observe(observe, answer, seed, exercise)
                    if is_judged_outside():
                        emit_observation(observation)
                        return
                    verdict = ask_judge(observe.__name__, observation, seed)
            except CheckFailed as failure:
                append_attempt(exercise, check.__name__, failure.code, time.perf_counter() - started)
                raise
            append_attempt(exercise, check.__name__, verdict.code, time.perf_counter() - started)
            _tell(verdict)

        return check

    return decorate


def _observe(observe: Observe, answer: Callable[..., Any], seed: int, exercise: str) -> Observation:
    try:
        return observe(answer, seed)
    except CheckFailed:
        raise
    except Exception as error:
        explain_exception(error, exercise)


def _tell(verdict: Verdict) -> None:
    if not verdict.is_passed:
        raise CheckFailed(verdict)
    print(f"passed: {verdict.measured}")

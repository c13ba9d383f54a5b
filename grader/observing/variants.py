"""Makes the checks of an exam: one for each variant of an exercise, on first use."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from grader.observation import Observation
from grader.observing.contract import fail, require_number
from grader.observing.running import Check, make_check
from grader.variants import Options, family_of, number_of, options_of


@dataclass(frozen=True)
class Family:
    """The checks of one exercise of an exam, which differ in their options.

    Attributes:
        exercise: Name of the exercise's function.
        parameters: Its parameters, in order.
        ask: Returns what the learner's function answers to the cases of a seed under the options.
    """

    exercise: str
    parameters: tuple[str, ...]
    ask: Callable[[Callable[..., Any], int, Options], list[Any]]


def variant_checks(topic: str, **families: Family) -> Callable[[str], Check]:
    """Return the `__getattr__` of a module that holds the checks of an exam.

    Args:
        topic: A lesson's name without its number.
        families: The families, by the names of their checks without a number.
    """

    @functools.cache
    def check_named(name: str) -> Check:
        if family_of(name) not in families:
            raise AttributeError(f"the exam of {topic} has no check {name!r}")
        try:
            options = options_of(topic, number_of(name))
        except ValueError as error:
            raise AttributeError(str(error)) from None
        family = families[family_of(name)]

        def observe(answer: Callable[..., Any], seed: int) -> Observation:
            """Ask for the values of each case."""
            return Observation({"answers": family.ask(answer, seed, options)})

        observe.__name__ = name
        return make_check(family.exercise, family.parameters)(observe)

    return check_named


def require_numbers(values: object, what: str) -> list[int | float]:
    """Return the numbers of a list, a tuple or a tensor, flattened; fail if it is none, or holds something else."""
    if isinstance(values, Tensor):
        values = values.detach().flatten().tolist()
    if not isinstance(values, list | tuple):
        measured = f"a value of type {type(values).__name__}"
        fail("no_list_returned", f"a list with {what}", measured, "You return no list. Return one number for each.")
    return [require_number(value, what) for value in values]

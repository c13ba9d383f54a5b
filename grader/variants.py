"""Variants of an exercise, each a choice among options: an exam draws one that nobody has solved before.

`grader/lessons/TOPIC/exam.toml` lists the options of a topic; the number of a variant chooses one value of each.
A check of an exam carries the number in its name, as in `check_exam_rates_v17`, so that it cannot be changed.
"""

from __future__ import annotations

import functools
import math
import re
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

Options = Mapping[str, Any]
NUMBERED = re.compile(r"(?P<family>\w+)_v(?P<number>0|[1-9]\d{0,5})")
FILE = "exam.toml"


def family_of(name: str) -> str:
    """Return the name of a check or judge without the number of its variant."""
    found = NUMBERED.fullmatch(name)
    return found["family"] if found else name


def number_of(name: str) -> int:
    """Return the number of the variant in the name of a check or judge; 0 if it has none."""
    found = NUMBERED.fullmatch(name)
    return int(found["number"]) if found else 0


def count_variants(topic: str) -> int:
    """Return how many variants the exam of a topic has."""
    return math.prod(len(values) for values in _lists(topic).values())


def options_of(topic: str, number: int) -> Options:
    """Return what a variant chooses of each option.

    Args:
        topic: A lesson's name without its number.
        number: From 0 to `count_variants(topic)` - 1.

    Raises:
        ValueError: if there is no such variant.
    """
    if not 0 <= number < count_variants(topic):
        raise ValueError(f"the exam of {topic} has {count_variants(topic)} variants, and no number {number}")
    chosen = {}
    for name, values in _lists(topic).items():
        number, place = divmod(number, len(values))
        chosen[name] = values[place]
    return chosen


@functools.cache
def _lists(topic: str) -> dict[str, list[Any]]:
    return tomllib.loads((files("grader") / "lessons" / topic / FILE).read_text(encoding="utf-8"))

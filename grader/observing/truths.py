"""Reads answers by name: True or False for each, or a set of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NoReturn

from grader.observing.contract import fail


def require_truths(value: object, keys: Sequence[str], what: str) -> dict[str, bool]:
    """Fail unless `value` is a dict of True or False, Python's, NumPy's or a tensor's, with exactly these keys.

    Args:
        value: What the learner returned.
        keys: The keys, in the order of the exercise.
        what: What was asked, for the message.
    """
    expected = f"{what}: a dict with {', '.join(map(repr, keys))}, each True or False"
    if not isinstance(value, Mapping):
        _fail_type(value, expected)
    found = [str(key) for key in value]
    if missing := [key for key in keys if key not in value]:
        measured = f"{_list(missing)} missing; found {_list(found) or 'no key'}"
        fail("key_missing", expected, measured, "the keys of your dict, letter by letter")
    if extra := [key for key in found if key not in keys]:
        fail("key_not_asked_for", expected, f"{_list(extra)} in addition", "the keys of your dict")
    return {key: _require_truth(value[key], key, expected) for key in keys}


def _require_truth(value: object, key: str, expected: str) -> bool:
    if type(value).__module__ in {"numpy", "torch"} and getattr(value, "shape", None) == ():
        value = value.item()  # type: ignore[attr-defined]
    if isinstance(value, bool):
        return value
    measured = f"{key!r}: {value!r}"[:80]
    if isinstance(value, str):
        fail("text_for_truth", expected, measured, "True and False are values of their own, without quotes")
    if isinstance(value, int | float):
        fail("number_for_truth", expected, measured, "a comparison such as a > b is True or False itself")
    look_at = f"what your function puts at {key!r}"
    fail("value_missing" if value is None else "value_of_wrong_type", expected, measured, look_at)


def _fail_type(value: object, expected: str) -> NoReturn:
    if value is None:
        fail("returned_none", expected, "None", "the end of your function: does it return its result?")
    measured = f"{type(value).__name__}: {value!r}"[:80]
    if isinstance(value, str):
        fail("text_returned", expected, measured, "one text for all keys: a dict has a value for each of them")
    if isinstance(value, bool):
        fail("one_truth_returned", expected, measured, "one answer for all keys: a dict has a value for each of them")
    if isinstance(value, list | tuple | set | frozenset):
        if any(isinstance(item, str) for item in value) or not value:
            look_at = "a dict has every key: those that you leave out stand for False, so write them down"
            fail("names_listed", expected, measured, look_at)
        fail("values_without_keys", expected, measured, "which value belongs to which key: a dict says it")
    fail("wrong_type", expected, measured, "what your function returns")


def _list(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))


def require_names(value: object, names: Sequence[str], what: str) -> list[str]:
    """Fail unless `value` is a set of names, or a list or tuple of them.

    Args:
        value: What the learner returned.
        names: The names that there are.
        what: What the set says, for the message.

    Returns:
        The names, each once, in alphabetical order.
    """
    expected = f"{what}: a set of names"
    if value is None:
        fail("returned_none", expected, "None", "the end of your function: does it return its result?")
    if isinstance(value, str) or not isinstance(value, Iterable):
        fail("wrong_type", expected, type(value).__name__, "what your function returns")
    found = sorted({str(name) for name in value})
    unknown = [name for name in found if name not in names]
    if unknown:
        fail("unknown_name", f"names out of {', '.join(names)}", unknown[0], "the names that the docstring lists")
    return found

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
        fail(
            "key_missing",
            expected,
            measured,
            "You leave out a key, or spell it differently. Compare the keys of your dict letter by letter.",
        )
    if extra := [key for key in found if key not in keys]:
        fail(
            "key_not_asked_for",
            expected,
            f"{_list(extra)} in addition",
            "You return a key that is not asked for. Look at the keys of your dict.",
        )
    return {key: _require_truth(value[key], key, expected) for key in keys}


def _require_truth(value: object, key: str, expected: str) -> bool:
    if type(value).__module__ in {"numpy", "torch"} and getattr(value, "shape", None) == ():
        value = value.item()  # type: ignore[attr-defined]
    if isinstance(value, bool):
        return value
    measured = f"{key!r}: {value!r}"[:80]
    if isinstance(value, str):
        fail("text_for_truth", expected, measured, "You return a text. Write True and False without quotes.")
    if isinstance(value, int | float):
        fail(
            "number_for_truth",
            expected,
            measured,
            "You return a number. A comparison such as a > b is True or False itself.",
        )
    look_at = f"You put another value at {key!r}. Put True or False there."
    fail("value_missing" if value is None else "value_of_wrong_type", expected, measured, look_at)


def _fail_type(value: object, expected: str) -> NoReturn:
    if value is None:
        fail("returned_none", expected, "None", "Your function returns nothing. Add a return statement at its end.")
    measured = f"{type(value).__name__}: {value!r}"[:80]
    if isinstance(value, str):
        fail(
            "text_returned",
            expected,
            measured,
            "You return one text for all keys. Return a dict with a value for each key.",
        )
    if isinstance(value, bool):
        fail(
            "one_truth_returned",
            expected,
            measured,
            "You return one answer for all keys. Return a dict with a value for each key.",
        )
    if isinstance(value, list | tuple | set | frozenset):
        if any(isinstance(item, str) for item in value) or not value:
            look_at = "You list the names that are True. Return a dict with every key, each True or False."
            fail("names_listed", expected, measured, look_at)
        fail(
            "values_without_keys",
            expected,
            measured,
            "You return values without keys. Return a dict, which says which value belongs to which key.",
        )
    fail("wrong_type", expected, measured, "You return an object of another type. Look at your return statement.")


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
        fail("returned_none", expected, "None", "Your function returns nothing. Add a return statement at its end.")
    if isinstance(value, str) or not isinstance(value, Iterable):
        fail(
            "wrong_type",
            expected,
            type(value).__name__,
            "You return an object of another type. Look at your return statement.",
        )
    found = sorted({str(name) for name in value})
    unknown = [name for name in found if name not in names]
    if unknown:
        fail(
            "unknown_name",
            f"names out of {', '.join(names)}",
            unknown[0],
            "You return a name that is not in the list. Use the names in the docstring.",
        )
    return found

"""Decides whether an answer equals a value: exactly, or within a tolerance."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

IsNear = Callable[[Any, Any], bool]


def within(*, relative: float = 0.0, absolute: float = 0.0) -> IsNear:
    """Return a comparison of an answer with a value, within tolerances that hold for each number on its own."""
    return partial(is_near, relative=relative, absolute=absolute)


def is_near(answer: Any, value: Any, *, relative: float = 0.0, absolute: float = 0.0) -> bool:
    """Return whether an answer equals a value, part by part.

    NaN equals NaN, and an infinity equals itself. A truth value, a text and None equal only themselves, whatever the
    tolerance; a tensor equals a tensor of the same shape, in float64.

    Args:
        answer: A number, truth value, text, None or tensor, or a sequence or mapping of them.
        value: The same.
        relative: Largest difference, as a share of the value.
        absolute: Largest difference.
    """
    compare = partial(is_near, relative=relative, absolute=absolute)
    if isinstance(value, Tensor) or isinstance(answer, Tensor):
        return _are_tensors_near(answer, value, relative, absolute)
    if isinstance(value, Mapping):
        return (
            isinstance(answer, Mapping)
            and answer.keys() == value.keys()
            and all(map(compare, answer.values(), (value[key] for key in answer)))
        )
    if _is_sequence(value):
        return _is_sequence(answer) and len(answer) == len(value) and all(map(compare, answer, value))
    return _is_scalar_near(answer, value, relative, absolute)


def _are_tensors_near(answer: Any, value: Any, relative: float, absolute: float) -> bool:
    if not isinstance(answer, Tensor) or not isinstance(value, Tensor) or answer.shape != value.shape:
        return False
    return torch.allclose(answer.double(), value.double(), rtol=relative, atol=absolute, equal_nan=True)


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _is_scalar_near(answer: Any, value: Any, relative: float, absolute: float) -> bool:
    are_numbers = all(isinstance(side, int | float) and not isinstance(side, bool) for side in (answer, value))
    if not are_numbers:
        return type(answer) is type(value) and bool(answer == value)
    if answer == value or (answer != answer and value != value):
        return True
    if not math.isfinite(answer) or not math.isfinite(value):
        return False
    return bool(abs(answer - value) <= max(relative * abs(value), absolute))

"""Asks a function of the learner how far apart two models ended."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn

from grader.device import lesson_device
from grader.lessons.three_forms.distance import DistanceCase
from grader.meters import weight_distance
from grader.observing.contract import fail, require_number
from grader.observing.recording import flat_weights

Outcome = dict[str, Any]


def ask_distance(relative_distance: Callable[..., Any], case: DistanceCase) -> Outcome:
    """Call `relative_distance(model, reference, start)` on one case.

    Returns:
        The "value", or "raised", the name of the error, with "is_value_error" and its "text"; and
        "has_changed_models".
    """
    models = [model.to(lesson_device()) for model in case.make_models()]
    before = [flat_weights(model) for model in models]
    with _refuse_meter():
        outcome = _outcome(relative_distance, models, is_error_expected=case.movement == 0)
    is_same = all(torch.equal(flat_weights(model), old) for model, old in zip(models, before, strict=True))
    return outcome | {"has_changed_models": not is_same}


def _outcome(relative_distance: Callable[..., Any], models: list[nn.Module], *, is_error_expected: bool) -> Outcome:
    try:
        value = relative_distance(*models)
    except Exception as error:
        if is_error_expected or isinstance(error, ValueError | ZeroDivisionError):
            return {"raised": type(error).__name__, "is_value_error": isinstance(error, ValueError), "text": str(error)}
        raise
    if isinstance(value, bool) or (isinstance(value, torch.Tensor) and value.dtype == torch.bool):
        look_at = "You return whether the weights agree within a tolerance. Return how far apart they are."
        fail("yes_or_no_returned", "the distance: a number", f"the truth value {value}", look_at)
    if value is None and is_error_expected:
        return {"value": None}
    return {"value": require_number(value, "the distance", is_finite=False)}


@contextlib.contextmanager
def _refuse_meter() -> Iterator[None]:
    """Fail the check when the block calls `measure_weight_distance`, under whatever name it was imported."""

    def refuse(*_: Any) -> None:
        look_at = "You let the instrument compute the distance. Divide the two norms yourself."
        fail("meter_called", "a distance that you compute yourself", "a call of measure_weight_distance", look_at)

    kept = weight_distance._flat
    weight_distance._flat = refuse  # type: ignore[assignment]  # what the meter calls first
    try:
        yield
    finally:
        weight_distance._flat = kept

"""Observes how an optimizer is used in one form: the loop with Accelerate, or the Trainer."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor

from grader.device import lesson_device
from grader.observation import Observation
from grader.observing.library_calls import record_library_calls
from grader.observing.optimizer_records import record_updates
from grader.observing.recording import record_training
from grader.testbed.pair_runs import OptimizerCase


def observe_optimizer_form(
    train: Callable[..., Any],
    cases: Sequence[OptimizerCase],
    surround: Callable[[], contextlib.AbstractContextManager[None]] = contextlib.nullcontext,
) -> Observation:
    """Train a model of each case with the learner's function.

    Args:
        train: Takes a model, a dataset and the `arguments` of a case.
        cases: What is trained.
        surround: Makes the context that one call runs in.

    Returns:
        Under "settings" events, rows and updates of each run, under "calls" what it called of the libraries, and
        gradients and weights as tensors.
    """
    settings, calls = [], []
    tensors: dict[str, Tensor] = {}
    for number, case in enumerate(cases):
        model, dataset = case.make_model().to(lesson_device()), case.make_dataset()
        with (
            surround(),
            record_training(model) as record,
            record_library_calls(record) as called,
            record_updates(model) as updates,
        ):
            train(model, dataset, *case.arguments)
        settings.append(record.facts() | updates.facts() | {"precision": _accelerate_precision()})
        calls.append(called)
        tensors |= record.tensors(str(number))
    return Observation({"settings": settings, "calls": calls, "device": lesson_device().type}, tensors)


def _accelerate_precision() -> str:
    """Return the mixed precision that Accelerate is set to, which its forwards do not show to a hook."""
    from accelerate.state import AcceleratorState

    return str(AcceleratorState._shared_state.get("_mixed_precision") or "no")

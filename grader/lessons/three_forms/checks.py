"""Observations of lesson 00: three forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

from grader.device import lesson_device
from grader.lessons.three_forms.defaults import DEFAULTS, defaults_cases
from grader.lessons.three_forms.distance import distance_cases, equal_case, unmoved_cases, untrained_case
from grader.lessons.three_forms.distances import ask_distance
from grader.lessons.three_forms.forms import forms_cases
from grader.lessons.three_forms.loop import raw_run_cases, repaired_run_cases
from grader.lessons.three_forms.raw_runs import observe_run, require_losses, tensors_of_updates, watch_losses
from grader.observation import Observation
from grader.observing.by_hand import refuse_libraries
from grader.observing.library_calls import Calls, record_library_calls
from grader.observing.recording import record_training
from grader.observing.running import make_check
from grader.observing.truths import require_truths

RUN_PARAMETERS = ("model", "dataset", "rows", "learning_rate")
FORM_PARAMETERS = (*RUN_PARAMETERS, "epochs")


@make_check("breaking_defaults", ("updates", "largest_gradient_norm"))
def check_breaking_defaults(breaking_defaults: Callable[..., Any], seed: int) -> Observation:
    """Ask which defaults lead eight runs elsewhere."""
    answers = []
    for case in defaults_cases(seed):
        answer = breaking_defaults(case.updates, case.largest_gradient_norm)
        answers.append(require_truths(answer, DEFAULTS, "which defaults lead to other weights"))
    return Observation({"answers": answers})


@make_check("train_raw", RUN_PARAMETERS)
def check_raw_updates(train_raw: Callable[..., Any], seed: int) -> Observation:
    """Train three small models for one epoch, and let no library take a part of the loop."""
    settings: list[dict[str, Any]] = []
    tensors: dict[str, Tensor] = {}
    for index, case in enumerate(raw_run_cases(seed)):
        with refuse_libraries(is_accelerate_refused=True):
            record, facts, returned = observe_run(case, train_raw)
        settings.append(facts | {"losses": require_losses(returned)})
        tensors |= tensors_of_updates(record, index, case)
    return Observation({"settings": settings}, tensors)


@make_check("train_repaired", RUN_PARAMETERS)
def check_repaired_loop(train_repaired: Callable[..., Any], seed: int) -> Observation:
    """Train two small models for one epoch, in a raw loop or with Accelerate."""
    settings: list[dict[str, Any]] = []
    tensors: dict[str, Tensor] = {}
    for index, case in enumerate(repaired_run_cases(seed)):
        with refuse_libraries(is_accelerate_refused=False):
            record, facts, _ = observe_run(case, train_repaired)
        settings.append(facts)
        tensors |= tensors_of_updates(record, index, case)
    return Observation({"settings": settings}, tensors)


@make_check("train_with_accelerate", FORM_PARAMETERS)
def check_accelerate_run(train_with_accelerate: Callable[..., Any], seed: int) -> Observation:
    """Train two small models and record how Accelerate is used."""
    return _observe_form(train_with_accelerate, seed)


@make_check("train_with_trainer", FORM_PARAMETERS)
def check_trainer_run(train_with_trainer: Callable[..., Any], seed: int) -> Observation:
    """Train two small models and record how the Trainer is used."""
    return _observe_form(train_with_trainer, seed)


@make_check("relative_distance", ("model", "reference", "start"))
def check_relative_distance(relative_distance: Callable[..., Any], seed: int) -> Observation:
    """Ask for the distances of small models, also where they are equal or the reference has not moved."""
    return Observation(
        {
            "distances": [ask_distance(relative_distance, case) for case in distance_cases(seed)],
            "equal": ask_distance(relative_distance, equal_case(seed)),
            "untrained": ask_distance(relative_distance, untrained_case(seed)),
            "unmoved": [ask_distance(relative_distance, case) for case in unmoved_cases(seed)],
        }
    )


def _observe_form(train: Callable[..., Any], seed: int) -> Observation:
    settings: list[dict[str, Any]] = []
    calls: list[Calls] = []
    tensors: dict[str, Tensor] = {}
    for index, case in enumerate(forms_cases(seed)):
        model = case.make_model().to(lesson_device())
        with record_training(model) as record, record_library_calls(record) as called, watch_losses(model):
            train(model, case.make_dataset(), case.rows, case.learning_rate, case.epochs)
        settings.append(record.facts())
        calls.append(called)
        tensors |= tensors_of_updates(record, index, case)
    return Observation({"settings": settings, "calls": calls}, tensors)

"""Observations of lesson 05: mixed precision."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F

from grader.device import lesson_device
from grader.lessons.mixed_precision.budget import gradient_budget_cases, peak_budget_case
from grader.lessons.mixed_precision.budget_runs import observe_budget_peak, observe_budget_update
from grader.lessons.mixed_precision.forms import (
    PAIRS_LEARNING_RATE,
    precision_forms_cases,
    precision_peak_case,
)
from grader.lessons.mixed_precision.groups import FP16_LEARNING_RATE, device_cases, group_cases
from grader.lessons.mixed_precision.recorded_runs import run_cases
from grader.lessons.mixed_precision.scaler_errors import explain_scaler_errors, refuse_library_scaler
from grader.lessons.mixed_precision.scaler_runs import Facts, Tensors, observe_groups, observe_scaler, on_device
from grader.lessons.mixed_precision.scales import scale_cases, scaler_cases
from grader.observation import Observation
from grader.observing.accelerate_state import fresh_accelerate_state
from grader.observing.by_hand import refuse_libraries
from grader.observing.contract import fail, require_number
from grader.observing.form_peaks import claim_form_peak
from grader.observing.library_calls import record_library_calls
from grader.observing.precision import record_asked_devices, record_precision
from grader.observing.recording import TrainingRecord, record_training
from grader.observing.running import make_check

GROUP_PARAMETERS = ("model", "loss_function", "optimizer", "scaler", "micro_batches", "max_norm")
FORM_PARAMETERS = ("model", "dataset", "rows", "learning_rate")
DIAGNOSES = ("overflow", "collapse", "bug")
BUDGET_PARAMETERS = ("model", "optimizer", "tokens", "targets")


@make_check("predict_scale", ("start_scale", "growth_interval", "found_inf"))
def check_predicted_scale(predict_scale: Callable[..., Any], seed: int) -> Observation:
    """Ask for the scale after every update of four histories."""
    predicted = []
    for case in scale_cases(seed):
        answer = predict_scale(case.start_scale, case.growth_interval, list(case.found_inf))
        if answer is None and not case.found_inf and predict_scale(case.start_scale, 2, [False]) is not None:
            look_at = "You return inside the loop, which ends your function after one update. Return after the loop."
            fail("returned_in_the_loop", "a scale for a history of no updates", "no return reached", look_at)
        predicted.append(require_number(answer, "the scale"))
    return Observation({"predicted_scales": predicted})


@make_check("scaled_update", ("scaler", "optimizer"))
def check_scaled_updates(scaled_update: Callable[..., Any], seed: int) -> Observation:
    """Hand scaled gradients to a learner's scaler, update by update."""
    settings: list[Facts] = []
    tensors: Tensors = {}
    for index, case in enumerate(scaler_cases(seed)):
        with refuse_library_scaler():
            facts, seen = observe_scaler(scaled_update, case)
        settings.append(facts)
        tensors |= {f"{index}.{name}": tensor for name, tensor in seen.items()}
    return Observation({"settings": settings}, tensors)


@make_check("train_group", GROUP_PARAMETERS)
def check_clipped_updates(train_group: Callable[..., Any], seed: int) -> Observation:
    """Train two small models in fp16, group by group, with updates that overflow."""
    settings: list[Facts] = []
    tensors: Tensors = {}
    for index, case in enumerate(group_cases(seed)):
        with refuse_libraries(is_accelerate_refused=True):
            facts, seen = observe_groups(train_group, case, str(index))
        settings.append(facts)
        tensors |= seen
    return Observation({"settings": settings}, tensors)


@make_check("autocast_with_accelerate", FORM_PARAMETERS)
def check_autocast_accelerate(autocast_with_accelerate: Callable[..., Any], seed: int) -> Observation:
    """Train small classifiers with Accelerate, and measure the peak of a larger run."""
    return _observe_form(autocast_with_accelerate, seed)


@make_check("autocast_with_trainer", FORM_PARAMETERS)
def check_autocast_trainer(autocast_with_trainer: Callable[..., Any], seed: int) -> Observation:
    """Train small classifiers with the Trainer, and measure the peak of a larger run."""
    return _observe_form(autocast_with_trainer, seed)


def _observe_form(train: Callable[..., Any], seed: int) -> Observation:
    settings: list[Facts] = []
    calls: list[Any] = []
    tensors: Tensors = {}
    for index, case in enumerate(precision_forms_cases(seed)):
        model = case.make_model().to(lesson_device())
        with fresh_accelerate_state(), record_training(model) as record, record_precision(model) as precision:
            with record_library_calls(record) as called:
                train(model, case.make_dataset(), case.rows, PAIRS_LEARNING_RATE)
        settings.append(record.facts() | precision.facts())
        calls.append(called)
        tensors |= record.tensors(str(index))
    large = precision_peak_case(seed)
    dataset = large.make_dataset()
    with fresh_accelerate_state():
        claim = claim_form_peak(
            lambda model: train(model, dataset, large.rows, PAIRS_LEARNING_RATE), large.make_model().to(lesson_device())
        )
    return Observation({"settings": settings, "calls": calls, "claims": [claim]}, tensors)


@make_check("train_in_fp16", ("model", "loss_function", "optimizer", "micro_batches"))
def check_fp16_on_its_device(train_in_fp16: Callable[..., Any], seed: int) -> Observation:
    """Train a deep chain in fp16 on the CPU, and on the lesson's device where that is another one."""
    settings: list[Facts] = []
    tensors: Tensors = {}
    for device in dict.fromkeys((torch.device("cpu"), lesson_device())):
        for case in device_cases(seed):
            model = case.make_model().to(device)
            optimizer = torch.optim.SGD(model.parameters(), lr=FP16_LEARNING_RATE)
            micro_batches = on_device(case.make_micro_batches(), device)
            with record_training(model) as record, record_precision(model) as precision:
                with explain_scaler_errors(partial(_is_first, record)):
                    train_in_fp16(model, F.mse_loss, optimizer, micro_batches)
            tensors |= record.tensors(str(len(settings)))
            settings.append(record.facts() | precision.facts() | {"device": device.type})
    return Observation({"settings": settings, "asked_devices": _asked_devices(train_in_fp16, seed)}, tensors)


def _asked_devices(train_in_fp16: Callable[..., Any], seed: int) -> list[str]:
    """Return the devices that the function asks for when the model is on one without values."""
    case = device_cases(seed)[0]
    model = case.make_model().to("meta")
    optimizer = torch.optim.SGD(model.parameters(), lr=FP16_LEARNING_RATE)
    with record_asked_devices() as asked, contextlib.suppress(Exception):  # values cannot be read there
        train_in_fp16(model, F.mse_loss, optimizer, on_device(case.make_micro_batches(), torch.device("meta")))
    return sorted(set(asked))


def _is_first(record: TrainingRecord) -> bool:
    return record.events.count("forward") < 2


@make_check("diagnose_run", ("log",))
def check_diagnosed_runs(diagnose_run: Callable[..., Any], seed: int) -> Observation:
    """Ask for the diagnosis of every recorded run."""
    diagnoses = []
    for case in run_cases(seed):
        diagnosis = diagnose_run(case.log())
        if not isinstance(diagnosis, str) or diagnosis not in DIAGNOSES:
            expected = f"one of the words {', '.join(DIAGNOSES)}"
            look_at = "You return something else than one of the three words. Look at the contract."
            fail("not_a_diagnosis", expected, repr(diagnosis)[:60], look_at)
        diagnoses.append(diagnosis)
    return Observation({"diagnoses": diagnoses})


@make_check("update_within_budget", BUDGET_PARAMETERS)
def check_whole_batch_update(update_within_budget: Callable[..., Any], seed: int) -> Observation:
    """Make one update of two small language models."""
    settings: list[Facts] = []
    tensors: Tensors = {}
    for index, case in enumerate(gradient_budget_cases(seed)):
        facts, seen = observe_budget_update(update_within_budget, case, str(index))
        settings.append(facts)
        tensors |= seen
    return Observation({"settings": settings}, tensors)


@make_check("update_within_budget", BUDGET_PARAMETERS)
def check_update_peak(update_within_budget: Callable[..., Any], seed: int) -> Observation:
    """Look at one update of a language model, then measure the peak of another one like it."""
    case = peak_budget_case(seed)
    facts, tensors = observe_budget_update(update_within_budget, case, "0")
    if facts["weight_formats"] != ["float32"]:
        look_at = "You convert the weights. Leave them in float32: a peak in fewer bits is another task."
        fail("weights_converted", "weights that stay float32", f"weights in {facts['weight_formats'][0]}", look_at)
    read = ("0.gradient.0", "0.weights.0", "0.weights.1")  # of one update: several are too much to emit
    tensors = {name: tensors[name] for name in read if name in tensors}
    return Observation({"settings": [facts], **observe_budget_peak(update_within_budget, case)}, tensors)

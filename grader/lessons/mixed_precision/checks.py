"""Observations of lesson 05: mixed precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from grader.device import lesson_device
from grader.lessons.mixed_precision.budget import gradient_budget_cases, peak_budget_case
from grader.lessons.mixed_precision.budget_runs import observe_budget_peak, observe_budget_update
from grader.lessons.mixed_precision.forms import PAIRS_LEARNING_RATE, precision_forms_cases
from grader.lessons.mixed_precision.groups import FP16_LEARNING_RATE, device_cases, group_cases
from grader.lessons.mixed_precision.scaler_errors import explain_scaler_errors, refuse_library_scaler
from grader.lessons.mixed_precision.scaler_runs import Facts, Tensors, observe_groups, observe_scaler, on_device
from grader.lessons.mixed_precision.scales import scale_cases, scaler_cases
from grader.observation import Observation
from grader.observing.by_hand import refuse_libraries
from grader.observing.contract import fail, require_number
from grader.observing.library_calls import record_library_calls
from grader.observing.precision import fresh_accelerate_state, record_precision
from grader.observing.recording import record_training
from grader.observing.running import make_check

GROUP_PARAMETERS = ("model", "loss_function", "optimizer", "scaler", "micro_batches", "max_norm")
FORMS_PARAMETERS = ("accelerate_model", "trainer_model", "dataset", "rows", "learning_rate")
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


@make_check("train_two_forms_in_bf16", FORMS_PARAMETERS)
def check_accelerate_bf16(train_two_forms_in_bf16: Callable[..., Any], seed: int) -> Observation:
    """Train in two forms and watch the first."""
    return _observe_forms(train_two_forms_in_bf16, seed, watched=0)


@make_check("train_two_forms_in_bf16", FORMS_PARAMETERS)
def check_trainer_bf16(train_two_forms_in_bf16: Callable[..., Any], seed: int) -> Observation:
    """Train in two forms and watch the second."""
    return _observe_forms(train_two_forms_in_bf16, seed, watched=1)


def _observe_forms(train: Callable[..., Any], seed: int, *, watched: int) -> Observation:
    settings: list[Facts] = []
    calls: list[Any] = []
    tensors: Tensors = {}
    for index, case in enumerate(precision_forms_cases(seed)):
        models = [case.make_model().to(lesson_device()) for _ in range(2)]
        model = models[watched]
        with fresh_accelerate_state(), record_training(model) as record, record_precision(model) as precision:
            with record_library_calls(record) as called:
                train(*models, case.make_dataset(), case.rows, PAIRS_LEARNING_RATE)
        settings.append(record.facts() | precision.facts())
        calls.append(called)
        tensors |= record.tensors(str(index))
    return Observation({"settings": settings, "calls": calls}, tensors)


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
            with record_training(model) as record, record_precision(model) as precision, explain_scaler_errors():
                train_in_fp16(model, F.mse_loss, optimizer, micro_batches)
            tensors |= record.tensors(str(len(settings)))
            settings.append(record.facts() | precision.facts() | {"device": device.type})
    return Observation({"settings": settings}, tensors)


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
    return Observation({"settings": [facts], **observe_budget_peak(update_within_budget, case)}, tensors)

"""Checks of lesson 02: gradient accumulation."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from grader.device import lesson_device
from grader.lessons.gradient_accumulation.forms import FormsCase, form_peak_case, forms_cases
from grader.lessons.gradient_accumulation.loops import LEARNING_RATE, stream_cases, updates_cases
from grader.lessons.gradient_accumulation.micro_batch_size import FitCase, fit_cases
from grader.lessons.gradient_accumulation.peak import peak_cases
from grader.lessons.gradient_accumulation.tokens import token_budget_case, token_cases
from grader.observation import Observation
from grader.observing.claims import claim_of, measure_claimed_peak
from grader.observing.contract import fail, require_number
from grader.observing.form_peaks import claim_form_peak
from grader.observing.library_calls import record_library_calls
from grader.observing.recording import TrainingRecord, flat_gradient, record_training
from grader.observing.refused_meters import refuse_meters
from grader.observing.running import make_check
from grader.testbed.regressions import MicroBatch

LOOP_PARAMETERS = ("model", "loss_function", "optimizer", "micro_batches", "k")
FORM_PARAMETERS = ("model", "dataset", "rows", "k", "learning_rate")


@make_check("predict_peak_bytes", ("parameter_bytes", "state_bytes", "activation_bytes", "k"))
def check_predicted_peak(predict_peak_bytes: Callable[..., Any], seed: int) -> Observation:
    """Ask for the peak of four chains."""
    predicted = []
    for case in peak_cases(seed):
        with refuse_meters("a formula: the peak computed from the four arguments"):
            answer = predict_peak_bytes(case.parameter_bytes, case.state_bytes, case.activation_bytes, case.k)
        predicted.append(require_number(answer, "the peak in bytes"))
    return Observation({"predicted_bytes": predicted})


@make_check("accumulate_gradients", LOOP_PARAMETERS)
def check_accumulated_gradients(accumulate_gradients: Callable[..., Any], seed: int) -> Observation:
    """Train three small models for one epoch, from lists of micro-batches."""
    records = []
    for case in updates_cases(seed):
        model = case.make_model().to(lesson_device())
        optimizer = torch.optim.SGD(model.parameters(), lr=LEARNING_RATE)
        with record_training(model) as record:
            accumulate_gradients(model, case.loss_function, optimizer, _on_device(case.make_micro_batches()), case.k)
        records.append(record)
    return _observation(records)


@make_check("accumulate_from_stream", LOOP_PARAMETERS)
def check_stream_updates(accumulate_from_stream: Callable[..., Any], seed: int) -> Observation:
    """Train small models for one epoch, from streams of unknown length."""
    records, held = [], []
    for case in stream_cases(seed):
        model = case.make_model().to(lesson_device())
        optimizer = torch.optim.SGD(model.parameters(), lr=LEARNING_RATE)
        with record_training(model) as record:
            alive: list[int] = []
            stream = _recorded_stream(_on_device(case.make_micro_batches()), record, alive)
            accumulate_from_stream(model, case.loss_function, optimizer, stream, case.k)
        records.append(record)
        held.append(max(alive, default=0))
    return _observation(records, held=held)


@make_check("accumulate_token_gradients", ("model", "micro_batches"))
def check_token_gradients(accumulate_token_gradients: Callable[..., Any], seed: int) -> Observation:
    """Accumulate over micro-batches with unequal numbers of target tokens."""
    settings, tensors = [], {}
    for index, case in enumerate(token_cases(seed)):
        model = case.make_model().to(lesson_device())
        with record_training(model) as record:
            returned = accumulate_token_gradients(model, _on_device(case.make_micro_batches()))
        loss = require_number(returned, "the mean loss of all target tokens", is_finite=False)
        settings.append(record.facts() | {"loss": loss})
        tensors[f"{index}.gradient"] = flat_gradient(model)
    return Observation({"settings": settings}, tensors)


@make_check("accumulate_token_gradients", ("model", "micro_batches"))
def check_token_peak(accumulate_token_gradients: Callable[..., Any], seed: int) -> Observation:
    """Measure the peak of eight micro-batches."""
    case = token_budget_case(seed)
    model, micro_batches = case.make_model().to(lesson_device()), _on_device(case.make_micro_batches())

    def step() -> None:
        model.zero_grad()
        accumulate_token_gradients(model, micro_batches)

    try:
        with record_training(model) as record:
            peak = measure_claimed_peak(step, model=model, inputs=micro_batches)
    except ValueError as error:
        if "more memory" not in str(error):
            raise
        fail(
            "memory_kept",
            "no tensor kept after the call",
            str(error),
            "You keep tensors that outlive your function. Look for globals, attributes and retain_graph.",
        )
    return Observation(record.facts() | {"claims": [claim_of(peak, lesson_device())]})


@make_check("accumulate_with_accelerate", FORM_PARAMETERS)
def check_accumulation_accelerate(accumulate_with_accelerate: Callable[..., Any], seed: int) -> Observation:
    """Train small classifiers with Accelerate, and measure the peak of a larger run."""
    return _observe_form(accumulate_with_accelerate, seed)


@make_check("accumulate_with_trainer", FORM_PARAMETERS)
def check_accumulation_trainer(accumulate_with_trainer: Callable[..., Any], seed: int) -> Observation:
    """Train small classifiers with the Trainer, and measure the peak of a larger run."""
    return _observe_form(accumulate_with_trainer, seed)


@make_check("repair_trainer", FORM_PARAMETERS)
def check_repaired_trainer(repair_trainer: Callable[..., Any], seed: int) -> Observation:
    """Train with the Trainer, as above, classifiers that do not divide their loss."""
    return _observe_form(repair_trainer, seed, make_model=FormsCase.make_undivided_model)


@make_check("largest_micro_batch", ("forecast_peak", "batch", "budget_bytes"))
def check_largest_micro_batch(largest_micro_batch: Callable[..., Any], seed: int) -> Observation:
    """Ask for the largest micro-batch of seven jobs, one of which nothing fits."""
    chosen: list[int | float | None] = []
    reasons: list[str] = []
    for case in fit_cases(seed):
        try:
            size = largest_micro_batch(_guarded_forecast(case), case.batch, case.budget_bytes)
        except ValueError as error:
            chosen.append(None)
            reasons.append(str(error))
        else:
            chosen.append(require_number(size, "rows of a micro-batch, or a ValueError where nothing fits"))
    return Observation({"chosen": chosen, "reasons": reasons})


def _guarded_forecast(case: FitCase) -> Callable[[int], int]:
    def forecast_peak(micro_batch: int) -> int:
        if micro_batch not in range(1, case.batch + 1):
            fail(
                "size_out_of_range",
                f"a forecast for 1 to {case.batch} rows",
                f"a forecast for {micro_batch} rows",
                "You ask for a size that no micro-batch has. Look at where your search starts and ends.",
            )
        return case.peak_bytes(micro_batch)

    return forecast_peak


def _observe_form(
    train: Callable[..., Any], seed: int, make_model: Callable[[FormsCase], nn.Module] = FormsCase.make_model
) -> Observation:
    records, calls = [], []
    for case in forms_cases(seed):
        model = make_model(case).to(lesson_device())
        with record_training(model) as record, record_library_calls(record) as called:
            train(model, case.make_dataset(), case.rows, case.k, case.learning_rate)
        records.append(record)
        calls.append(called)
    large = form_peak_case(seed)
    dataset = large.make_dataset()
    claim = claim_form_peak(
        lambda model: train(model, dataset, large.rows, large.k, large.learning_rate),
        make_model(large).to(lesson_device()),
    )
    return _observation(records, calls=calls, claims=[claim])


def _observation(records: list[TrainingRecord], **facts: object) -> Observation:
    tensors: dict[str, Tensor] = {}
    for index, record in enumerate(records):
        tensors |= record.tensors(str(index))
    return Observation({"settings": [record.facts() for record in records], **facts}, tensors)


def _recorded_stream(micro_batches: list[MicroBatch], record: TrainingRecord, alive: list[int]) -> Iterator[MicroBatch]:
    """Give one micro-batch after the other; note at each draw how many of them the learner still holds."""
    drawn: list[weakref.ref[Tensor]] = []
    while micro_batches:
        record.events.append("draw")
        drawn.append(weakref.ref(micro_batches[0][0]))
        alive.append(sum(reference() is not None for reference in drawn))
        yield micro_batches.pop(0)


def _on_device(micro_batches: list[MicroBatch]) -> list[MicroBatch]:
    return [(inputs.to(lesson_device()), targets.to(lesson_device())) for inputs, targets in micro_batches]

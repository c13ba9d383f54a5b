"""Observations of lesson 03: gradient checkpointing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from grader.device import lesson_device
from grader.lessons.gradient_checkpointing.autograd_errors import named_autograd_errors
from grader.lessons.gradient_checkpointing.block_runs import (
    count_leaves,
    gradients_of,
    measure_blocks,
    record_blocks,
    require_output,
    require_run,
)
from grader.lessons.gradient_checkpointing.budget import FEW_ROWS, BudgetCase, budget_cases
from grader.lessons.gradient_checkpointing.faults import FAULTS, faults_cases
from grader.lessons.gradient_checkpointing.forms import form_peak_case, forms_cases, watched_parts
from grader.lessons.gradient_checkpointing.functions import FunctionCase, function_cases, function_peak_case
from grader.lessons.gradient_checkpointing.refusals import refuse_checkpointing
from grader.lessons.gradient_checkpointing.segments import segments_cases
from grader.meters.peak import PeakMemory
from grader.observation import Observation
from grader.observing.claims import claim_of
from grader.observing.contract import require_number
from grader.observing.form_peaks import claim_form_peak
from grader.observing.library_calls import record_library_calls
from grader.observing.recording import record_training
from grader.observing.refused_meters import refuse_meters
from grader.observing.running import make_check
from grader.observing.truths import require_names

SEGMENT_PARAMETERS = ("parameter_bytes", "boundary_bytes", "interior_bytes", "blocks", "k")
BUDGET_PARAMETERS = ("blocks", "inputs", "budget_bytes")
FORM_PARAMETERS = ("model", "dataset", "rows", "learning_rate")

Facts = dict[str, Any]


@make_check("predict_segment_peak", SEGMENT_PARAMETERS)
def check_segment_peak(predict_segment_peak: Callable[..., Any], seed: int) -> Observation:
    """Ask for the peak of four chains."""
    predicted = []
    for case in segments_cases(seed):
        sizes = (case.parameter_bytes, case.boundary_bytes, case.interior_bytes)
        with refuse_meters("a formula: the peak computed from the five arguments"):
            answer = predict_segment_peak(*sizes, case.blocks, case.k)
        predicted.append(require_number(answer, "the peak in bytes"))
    return Observation({"predicted_bytes": predicted})


@make_check("checkpoint_by_hand", ("block", "inputs"))
def check_checkpoint_gradients(checkpoint_by_hand: Callable[..., Any], seed: int) -> Observation:
    """Run blocks of four kinds forward and backward, on the CPU: random numbers differ between devices."""
    settings: list[Facts] = []
    tensors: dict[str, Tensor] = {}
    for index, case in enumerate(function_cases(seed)):
        with torch.random.fork_rng(devices=[]), refuse_checkpointing(), named_autograd_errors():
            facts, seen = _observe_function(checkpoint_by_hand, case)
        settings.append(facts)
        tensors |= {f"{index}.{name}": tensor for name, tensor in seen.items()}
    return Observation({"settings": settings}, tensors)


def _observe_function(checkpoint_by_hand: Callable[..., Any], case: FunctionCase) -> tuple[Facts, dict[str, Tensor]]:
    blocks, inputs, weights = case.make_blocks(), case.make_inputs(), case.make_output_weights()

    def apply(block: nn.Module, states: Tensor) -> Tensor:
        return require_output(checkpoint_by_hand(block, states), "the output of the block", weights.shape)

    with record_blocks(blocks) as record:
        outputs = case.run(blocks, inputs, apply)
        state = torch.get_rng_state()
        record.is_backward = True
        if outputs.requires_grad:
            torch.autograd.backward(outputs, weights)
    missing, gradient = gradients_of(blocks)
    seen = {"outputs": outputs.detach(), "gradient": gradient}
    if inputs.grad is not None:
        seen["input_gradient"] = inputs.grad
    facts = {
        "needs_gradient": outputs.requires_grad,
        "missing": missing,
        "parameters_seen": count_leaves(outputs, nn.ModuleList(blocks).parameters()),
        "has_own_function": isinstance(outputs.grad_fn, torch.autograd.function.BackwardCFunction),
        "is_random_state_kept": torch.equal(state, torch.get_rng_state()),
        "is_input_kept": torch.equal(inputs, case.make_inputs()),
    }
    return record.facts() | facts, seen


@make_check("checkpoint_by_hand", ("block", "inputs"))
def check_checkpoint_peak(checkpoint_by_hand: Callable[..., Any], seed: int) -> Observation:
    """Measure the peak of eight blocks."""
    case = function_peak_case(seed)
    model, inputs = case.make_model().to(lesson_device()), case.make_inputs().to(lesson_device())

    def run(states: Tensor) -> Tensor:
        for block in model:
            states = require_output(checkpoint_by_hand(block, states), "the output of the block")
        return states

    with refuse_checkpointing(), named_autograd_errors():
        peak, facts = measure_blocks(run, model, inputs)
    return Observation(facts | {"claims": [claim_of(peak, lesson_device())]})


@make_check("fit_into_budget", BUDGET_PARAMETERS)
def check_budget_gradients(fit_into_budget: Callable[..., Any], seed: int) -> Observation:
    """Run two models forward and backward on a few rows, on the CPU: random numbers differ between devices."""
    settings: list[Facts] = []
    tensors: dict[str, Tensor] = {}
    for index, case in enumerate(budget_cases(seed)[:2]):
        model = case.make_model()
        with torch.random.fork_rng(devices=[]), named_autograd_errors():
            run = require_run(fit_into_budget(model, case.make_inputs(), case.budget_bytes))
            model.zero_grad()
            torch.manual_seed(case.seed)
            with record_blocks(list(model)) as record:
                outputs = require_output(run(case.make_inputs(FEW_ROWS)), "the output of the model")
                if outputs.requires_grad:
                    torch.autograd.backward(outputs.square().sum())
        missing, tensors[f"{index}.gradient"] = gradients_of(list(model))
        tensors[f"{index}.outputs"] = outputs.detach()
        settings.append(record.facts() | {"needs_gradient": outputs.requires_grad, "missing": missing})
    return Observation({"settings": settings}, tensors)


@make_check("fit_into_budget", BUDGET_PARAMETERS)
def check_budget_peak(fit_into_budget: Callable[..., Any], seed: int) -> Observation:
    """Measure the peaks of four models."""
    settings, claims = [], []
    for case in budget_cases(seed):
        peak, facts = _measure_budget(fit_into_budget, case)
        settings.append(facts)
        claims.append(claim_of(peak, lesson_device()))
    return Observation({"settings": settings, "claims": claims})


def _measure_budget(fit_into_budget: Callable[..., Any], case: BudgetCase) -> tuple[PeakMemory, Facts]:
    model, inputs = case.make_model().to(lesson_device()), case.make_inputs().to(lesson_device())
    with named_autograd_errors():
        run = require_run(fit_into_budget(model, inputs, case.budget_bytes))
        return measure_blocks(lambda states: require_output(run(states), "the output of the model"), model, inputs)


@make_check("checkpoint_with_accelerate", FORM_PARAMETERS)
def check_checkpointing_accelerate(checkpoint_with_accelerate: Callable[..., Any], seed: int) -> Observation:
    """Train small classifiers with Accelerate, and measure the peak of a deeper one."""
    return _observe_form(checkpoint_with_accelerate, seed)


@make_check("checkpoint_with_trainer", FORM_PARAMETERS)
def check_checkpointing_trainer(checkpoint_with_trainer: Callable[..., Any], seed: int) -> Observation:
    """Train small classifiers with the Trainer, and measure the peak of a deeper one."""
    return _observe_form(checkpoint_with_trainer, seed)


def _observe_form(train: Callable[..., Any], seed: int) -> Observation:
    settings: list[Facts] = []
    calls: list[Facts] = []
    tensors: dict[str, Tensor] = {}
    for index, case in enumerate(forms_cases(seed)):
        model = case.make_model().to(lesson_device())
        parts = record_blocks(watched_parts(model))
        with record_training(model) as record, record_library_calls(record) as called, parts as runs:
            train(model, case.make_dataset(), case.rows, case.learning_rate)
        settings.append(record.facts() | {"part_runs": list(runs.forwards)})
        calls.append(called)
        tensors |= record.tensors(str(index))
    deep = form_peak_case(seed)
    dataset = deep.make_dataset()
    claim = claim_form_peak(
        lambda model: train(model.eval(), dataset, deep.rows, deep.learning_rate), deep.make_model().to(lesson_device())
    )
    return Observation({"settings": settings, "calls": calls, "claims": [claim]}, tensors)


@make_check("find_faults", ("checkpoint",))
def check_found_faults(find_faults: Callable[..., Any], seed: int) -> Observation:
    """Hand over nine checkpoints, most of them with faults."""
    found = []
    for case in faults_cases(seed):
        with torch.random.fork_rng(devices=[]):
            found.append(require_names(find_faults(case.make_checkpoint()), FAULTS, "the faults of the checkpoint"))
    return Observation({"found": found})

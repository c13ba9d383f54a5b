"""Observations of lesson 06: AdamW."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from grader.device import lesson_device
from grader.lessons.adamw.backward import backward_cases, backward_peak_case
from grader.lessons.adamw.counted import count_cases
from grader.lessons.adamw.forms import decay_forms_cases
from grader.lessons.adamw.hook_records import record_hooks, watch_registrations
from grader.lessons.adamw.records import OwnStepRecord, refuse_step_of_torch, wide_moments
from grader.lessons.adamw.state import state_cases
from grader.lessons.adamw.updates import adam_cases, adamw_cases
from grader.meters.measurement import measure_peak_memory
from grader.observation import Observation
from grader.observing.claims import claim_of, measure_claimed_peak
from grader.observing.contract import fail, require_number
from grader.observing.optimizer_forms import observe_optimizer_form
from grader.observing.refused_optimizers import refuse_count, refuse_optimizers
from grader.observing.running import make_check
from grader.observing.state_records import (
    copy_of_state,
    is_as_before,
    is_state_as_before,
    is_state_emptied,
    record_moves,
    require_count,
)
from grader.observing.step_records import copies, observe_steps, on_device
from grader.testbed.optimizer_steps import STEPS, UpdateCase
from grader.testbed.own_optimizer import OwnOptimizer

UPDATE_PARAMETERS = ("weight", "gradient", "state", "lr", "betas", "eps")
FORMS_PARAMETERS = ("model", "dataset", "rows", "lr", "weight_decay")
BY_HAND = "AdamW written by hand"
LINES_OF_ADAM = "You call PyTorch's optimizer. Write the update itself: both moments, their correction, the step."
LINES_OF_STEP = "You call the method step() of PyTorch's Adam or AdamW. Write the lines that it consists of."


@make_check("predict_optimizer_state", ("parameters", "optimizer"))
def check_state_bytes(predict_optimizer_state: Callable[..., Any], seed: int) -> Observation:
    """Ask for the state of six lists of parameters, which have shapes and no values."""
    predicted = []
    look_at = (
        "You make an optimizer and measure it. Derive the bytes from its rule: what is needed again at the next step?"
    )
    for case in state_cases(seed):
        with refuse_optimizers("a prediction, from the parameters and the name of the optimizer", look_at):
            parameters = case.make_parameters()
            handed_over = list(parameters)
            answer = predict_optimizer_state(handed_over, case.optimizer)
        if not is_as_before(handed_over, parameters, [kind.is_trained for kind in case.tensors]):
            look_at = "You change what you count. Look for pop, del, requires_grad_ or an assignment to .grad."
            fail("parameters_changed", "the parameters as they were", "another list, or other parameters", look_at)
        predicted.append(require_number(answer, "the state in bytes"))
    return Observation({"predicted_bytes": predicted})


@make_check("adam_update", UPDATE_PARAMETERS)
def check_adam_updates(adam_update: Callable[..., Any], seed: int) -> Observation:
    """Update single tensors for 20 steps, one after the other."""

    def observe(case: UpdateCase) -> tuple[dict[str, Any], list[Tensor]]:
        weights = [weight.to(lesson_device()) for weight in case.make_weights()]
        states: list[dict[str, Any]] = [{} for _ in weights]
        recorder = OwnStepRecord(weights)
        for step in range(1, STEPS + 1):
            gradients = on_device(case.gradients(step))
            kept = copies(gradients)
            for weight, gradient, state in zip(weights, gradients, states, strict=True):
                with refuse_optimizers("Adam written by hand", LINES_OF_ADAM), torch.no_grad():
                    adam_update(weight, gradient, state, case.learning_rate(0, step), case.betas, case.eps)
            recorder.note(gradients, kept)
        return recorder.facts(states), recorder.rows()

    observation = observe_steps(observe, adam_cases(seed))
    weight, gradient = torch.ones(3, 4, dtype=torch.bfloat16), torch.ones(3, 4, dtype=torch.bfloat16)
    state: dict[str, Any] = {}
    with torch.no_grad():
        adam_update(weight, gradient, state, 0.1, (0.9, 0.999), 1e-8)
    observation.facts["settings"][0]["wide_moments"] = wide_moments(state, weight)
    return observation


@make_check("adamw_step", ("optimizer",))
def check_adamw_steps(adamw_step: Callable[..., Any], seed: int) -> Observation:
    """Take 20 steps of an optimizer with groups."""

    def observe(case: UpdateCase) -> tuple[dict[str, Any], list[Tensor]]:
        weights = [torch.nn.Parameter(weight.to(lesson_device())) for weight in case.make_weights()]
        groups = [
            {"params": [weights[index] for index in case.members(group)], **case.options(group, 1)}
            for group in range(len(case.decays))
        ]
        optimizer = OwnOptimizer(adamw_step, groups)
        recorder = OwnStepRecord(weights)
        for step in range(1, STEPS + 1):
            gradients = on_device(case.gradients(step))
            kept = copies(gradients)
            options = [case.options(group, step) for group in range(len(case.decays))]
            for group, own in zip(optimizer.param_groups, options, strict=True):
                group.update(own)
            for weight, gradient in zip(weights, gradients, strict=True):
                weight.grad = gradient
            with refuse_optimizers(BY_HAND, LINES_OF_ADAM), refuse_step_of_torch(BY_HAND, LINES_OF_STEP):
                optimizer.step()
            recorder.note_parameters(optimizer.param_groups, options, kept)
            recorder.note(gradients, kept)
        states = [optimizer.state[weight] if weight in optimizer.state else {} for weight in weights]
        return recorder.facts(states), recorder.rows()

    observation = observe_steps(observe, adamw_cases(seed))
    weight = torch.nn.Parameter(torch.ones(3, 4, dtype=torch.bfloat16))
    weight.grad = torch.ones_like(weight)
    optimizer = OwnOptimizer(adamw_step, [weight], lr=0.1)
    optimizer.step()
    observation.facts["settings"][0]["wide_moments"] = wide_moments(optimizer.state.get(weight, {}), weight)
    return observation


@make_check("step_in_backward", ("model", "make_optimizer"))
def check_adam_in_backward(step_in_backward: Callable[..., Any], seed: int) -> Observation:
    """Prepare two models, and run some backwards."""
    settings, tensors = [], {}
    for number, case in enumerate(backward_cases(seed)):
        model = case.make_model().to(lesson_device())
        trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
        rows = []
        with record_hooks(model) as record:
            with watch_registrations(record):
                step_in_backward(model, record.noting(case.make_optimizer))
            for batch in case.make_batches():
                record.run_backward(case.loss(model(batch.to(lesson_device()))))
                rows.append(torch.cat([parameter.detach().flatten() for parameter in trained]))
        settings.append(record.facts())
        tensors[f"{number}.weights"] = torch.stack(rows).cpu()
    return Observation({"settings": settings}, tensors)


@make_check("step_in_backward", ("model", "make_optimizer"))
def check_adam_backward_peak(step_in_backward: Callable[..., Any], seed: int) -> Observation:
    """Measure the peak of one backward that updates."""
    case = backward_peak_case(seed)
    model, inputs = case.make_model().to(lesson_device()), case.make_inputs().to(lesson_device())
    with record_hooks(model) as record:
        with watch_registrations(record):
            step_in_backward(model, record.noting(case.make_optimizer))

        def step() -> None:
            record.run_backward(model(inputs).square().mean())

        try:
            peak = measure_claimed_peak(step, model=model, inputs=inputs)
        except ValueError as error:
            if "more memory" not in str(error):
                raise
            fail(*record.explain_kept(error))
    return Observation(record.facts() | {"claims": [claim_of(peak, lesson_device())]})


@make_check("train_decay_groups_with_accelerate", FORMS_PARAMETERS)
def check_decay_groups_accelerate(train_decay_groups_with_accelerate: Callable[..., Any], seed: int) -> Observation:
    """Train with Accelerate."""
    return observe_optimizer_form(train_decay_groups_with_accelerate, decay_forms_cases(seed))


@make_check("train_decay_groups_with_trainer", FORMS_PARAMETERS)
def check_decay_groups_trainer(train_decay_groups_with_trainer: Callable[..., Any], seed: int) -> Observation:
    """Train with the Trainer."""
    return observe_optimizer_form(train_decay_groups_with_trainer, decay_forms_cases(seed))


@make_check("count_state", ("optimizer",))
def check_state_count(count_state: Callable[..., Any], seed: int) -> Observation:
    """Have the state of four optimizers counted, on the CPU even where there is a CUDA device."""
    counted, copied_bytes, is_changed, is_emptied, moves = [], [], [], [], []
    for case in count_cases(seed):
        optimizer = case.make_optimizer()
        before = copy_of_state(optimizer)
        with refuse_count():
            with record_moves() as moved:
                counted.append(require_count(count_state(optimizer)))
            is_changed.append(not is_state_as_before(optimizer, before))
            is_emptied.append(is_state_emptied(optimizer, before))
            peak = measure_peak_memory(partial(count_state, optimizer), optimizer=optimizer, device="cpu")
        copied_bytes.append(peak.above_entry_bytes)
        moves.append(moved)
    facts = {"counted": counted, "copied_bytes": copied_bytes, "moves": moves}
    facts |= {"is_changed": is_changed, "is_emptied": is_emptied}
    return Observation(facts)

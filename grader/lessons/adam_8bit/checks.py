"""Observations of lesson 08: 8-bit Adam."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from grader.device import lesson_device
from grader.lessons.adam_8bit.blocks import block_cases
from grader.lessons.adam_8bit.forms import eight_bit_forms_cases
from grader.lessons.adam_8bit.job import job_loss_cases, job_peak_case
from grader.lessons.adam_8bit.job_records import record_job
from grader.lessons.adam_8bit.refusals import refuse_eight_bit_updates, refuse_quantizers
from grader.lessons.adam_8bit.state import eight_bit_state_cases
from grader.lessons.adam_8bit.updates import EIGHT_BIT_STEPS, EightBitCase, eight_bit_cases
from grader.meters.storages import tensors_in
from grader.observation import Observation
from grader.observing.claims import claim_of, measure_claimed_peak
from grader.observing.contract import fail, require_number
from grader.observing.optimizer_forms import observe_optimizer_form
from grader.observing.optimizer_records import state_formats
from grader.observing.recording import flat_weights
from grader.observing.refused_optimizers import refuse_optimizers
from grader.observing.running import make_check
from grader.observing.step_records import StepRecord, copies, on_device
from grader.testbed.eight_bit_manager import fresh_optimizer_manager
from grader.testbed.own_optimizer import OwnOptimizer

FORMS_PARAMETERS = ("model", "dataset", "rows", "lr", "weight_decay")
LINES_OF_STEP = "You let an optimizer take the step. Write it yourself: decode both moments, update, encode them."


@make_check("predict_eight_bit_state", ("parameters",))
def check_eight_bit_state(predict_eight_bit_state: Callable[..., Any], seed: int) -> Observation:
    """Ask for the state of six lists of parameters, which have shapes and no values."""
    predicted = []
    look_at = "You make an optimizer and measure it. Compute the parts: codes, scales, code books, small tensors."
    for case in eight_bit_state_cases(seed):
        with refuse_optimizers("a prediction, from the parameters alone", look_at):
            answer = predict_eight_bit_state(case.make_parameters())
        predicted.append(require_number(answer, "the state in bytes"))
    return Observation({"predicted_bytes": predicted})


@make_check("quantize_blocks", ("values", "code_book", "block_size"))
def check_block_codes(quantize_blocks: Callable[..., Any], seed: int) -> Observation:
    """Quantize five tensors."""
    settings: list[dict[str, Any]] = []
    tensors: dict[str, Tensor] = {}
    for number, case in enumerate(block_cases(seed)):
        values, book = case.make_values().to(lesson_device()), case.make_code_book().to(lesson_device())
        kept, kept_book = values.clone(), book.clone()
        with refuse_quantizers():
            answer = quantize_blocks(values, book, case.block_size)
        codes, scales = _require_codes(answer)
        settings.append({"codes": _describe(codes), "scales": _describe(scales)})
        settings[-1]["is_changed"] = not torch.equal(values, kept)
        settings[-1]["is_book_changed"] = not torch.equal(book, kept_book)
        tensors |= {f"{number}.codes": codes.detach().cpu(), f"{number}.scales": scales.detach().cpu()}
    return Observation({"settings": settings}, tensors)


@make_check("eight_bit_step", ("optimizer",))
def check_eight_bit_steps(eight_bit_step: Callable[..., Any], seed: int) -> Observation:
    """Take 8 steps of an optimizer with groups."""
    settings: list[dict[str, Any]] = []
    tensors: dict[str, Tensor] = {}
    for number, case in enumerate(eight_bit_cases(seed)):
        facts, rows = _observe_steps(case, eight_bit_step)
        settings.append(facts)
        tensors |= {f"{number}.{index}": row for index, row in enumerate(rows)}
    return Observation({"settings": settings}, tensors)


@make_check("train_eight_bit_with_accelerate", FORMS_PARAMETERS)
def check_eight_bit_accelerate(train_eight_bit_with_accelerate: Callable[..., Any], seed: int) -> Observation:
    """Train with Accelerate."""
    return observe_optimizer_form(train_eight_bit_with_accelerate, eight_bit_forms_cases(seed), fresh_optimizer_manager)


@make_check("train_eight_bit_with_trainer", FORMS_PARAMETERS)
def check_eight_bit_trainer(train_eight_bit_with_trainer: Callable[..., Any], seed: int) -> Observation:
    """Train with the Trainer."""
    return observe_optimizer_form(train_eight_bit_with_trainer, eight_bit_forms_cases(seed), fresh_optimizer_manager)


@make_check("train_within", ("model", "batches", "budget_bytes"))
def check_lean_job(train_within: Callable[..., Any], seed: int) -> Observation:
    """Train two small models for their loss, and a large one for its peak."""
    settings: list[dict[str, Any]] = []
    tensors: dict[str, Tensor] = {}
    for number, case in enumerate(job_loss_cases(seed)):
        model = case.make_model().to(lesson_device())
        with record_job(model) as record, fresh_optimizer_manager():
            train_within(model, case.make_batches(), case.budget_bytes)
        settings.append(record.facts())
        _require_trainable(model)
        tensors[f"{number}.weights"] = flat_weights(model).cpu()
    case = job_peak_case(seed)
    model, batches = case.make_model().to(lesson_device()), case.make_batches()
    budget_bytes = case.budget_bytes
    with record_job(model) as record, fresh_optimizer_manager():
        try:
            peak = measure_claimed_peak(lambda: train_within(model, batches, budget_bytes), model=model, inputs=batches)
        except ValueError as error:
            if "more memory" not in str(error):
                raise
            if any(facts["hooks_left"] for facts in settings):
                look_at = "You leave hooks on the parameters, which hold tensors. Each has a handle: call its remove()."
                fail("hooks_left", "no hook left on a parameter", f"{settings[0]['hooks_left']} hooks", look_at)
            look_at = "You keep tensors after the call. Look for lists and names outside of it that hold them."
            fail("memory_kept", "no tensor kept after the call", str(error), look_at)
    claims = [claim_of(peak, lesson_device())]
    return Observation({"settings": settings, "large": record.facts(), "claims": claims}, tensors)


def _observe_steps(case: EightBitCase, eight_bit_step: Callable[..., Any]) -> tuple[dict[str, Any], list[Tensor]]:
    weights = [torch.nn.Parameter(weight.to(lesson_device())) for weight in case.make_weights()]
    options = zip(case.learning_rates, case.decays, strict=True)
    groups = [
        {"params": [weights[index] for index in case.members(group)], "lr": rate, "weight_decay": decay}
        for group, (rate, decay) in enumerate(options)
    ]
    optimizer = OwnOptimizer(eight_bit_step, groups, betas=case.betas, eps=case.eps)
    recorder, removed, changed = StepRecord(weights), 0, set()
    for step in range(1, EIGHT_BIT_STEPS + 1):
        gradients = on_device(case.gradients(step))
        kept = copies(gradients)
        for number, group in enumerate(optimizer.param_groups):
            group["lr"] = case.learning_rate(number, step)
        for weight, gradient in zip(weights, gradients, strict=True):
            weight.grad = gradient
        before = _options(optimizer)
        with refuse_optimizers("8-bit Adam written by hand", LINES_OF_STEP), refuse_eight_bit_updates():
            optimizer.step()
        recorder.note(gradients, kept)
        pairs = zip(weights, gradients, strict=True)
        removed += sum(weight.grad is None and gradient is not None for weight, gradient in pairs)
        changed |= {name for name, value in _options(optimizer).items() if before.get(name) != value}
    states = _states(optimizer, weights)
    facts = {"gradients_removed": removed, "options_changed": sorted({name for _, name in changed})}
    facts |= {"formats": state_formats(states), "kept_numbers": _numbers_beside(optimizer, weights)}
    return recorder.facts(states) | facts, recorder.rows()


def _options(optimizer: OwnOptimizer) -> dict[tuple[int, str], Any]:
    """Return the options of all groups by number and name."""
    names = ("lr", "betas", "eps", "weight_decay")
    return {(number, name): group.get(name) for number, group in enumerate(optimizer.param_groups) for name in names}


def _states(optimizer: OwnOptimizer, weights: list[torch.nn.Parameter]) -> list[Any]:
    """Return the state of each weight; fail where a state has another key, such as an id."""
    if any(isinstance(key, int) for key in optimizer.state):
        look_at = "You use a number as the key of a state. Use the parameter itself: optimizer.state[parameter]."
        fail("state_under_another_key", "states under their parameters", "keys of type int", look_at)
    return [optimizer.state.get(weight, {}) for weight in weights]


def _numbers_beside(optimizer: OwnOptimizer, weights: list[torch.nn.Parameter]) -> int:
    """Count the numbers in tensors that an optimizer holds besides its parameters, their gradients and its state."""
    known = {id(tensor) for weight in weights for tensor in (weight, weight.grad)}
    known |= {id(tensor) for tensor in tensors_in(list(optimizer.state.values()))}
    held = [value for name, value in vars(optimizer).items() if name != "state"]
    return sum({id(tensor): tensor.numel() for tensor in tensors_in(held) if id(tensor) not in known}.values())


def _require_trainable(model: torch.nn.Module) -> None:
    """Fail unless all parameters are float32 and trainable, as they were."""
    if not all(parameter.requires_grad for parameter in model.parameters()):
        look_at = "You turn requires_grad off. Leave it as it was."
        fail("frozen_at_the_end", "parameters that can be trained further", "frozen parameters", look_at)
    formats = {str(parameter.dtype).removeprefix("torch.") for parameter in model.parameters()}
    if formats != {"float32"}:
        look_at = "You convert the model. Its parameters stay in their format."
        fail("format_changed", "parameters in float32", f"parameters in {', '.join(sorted(formats))}", look_at)


def _require_codes(answer: Any) -> tuple[Tensor, Tensor]:
    """Fail unless an answer is two tensors on the lesson's device."""
    expected = "two tensors: codes, scales"
    if answer is None:
        fail("returned_none", expected, "None", "You return nothing. Look at the end of your function.")
    if not isinstance(answer, tuple | list) or len(answer) != 2:
        fail(
            "no_pair",
            expected,
            type(answer).__name__,
            "You return something else than a pair. Return codes, then scales.",
        )
    for name, part in zip(("codes", "scales"), answer, strict=True):
        if not isinstance(part, Tensor):
            fail(
                "no_tensor",
                expected,
                f"{name} of type {type(part).__name__}",
                "You return a part that is not a tensor.",
            )
        if part.device.type != lesson_device().type:
            look_at = "You make tensors on another device. Make them on the device of the values."
            fail("wrong_device", f"{name} on {lesson_device().type}", f"on {part.device.type}", look_at)
    return answer[0], answer[1]


def _describe(tensor: Tensor) -> dict[str, Any]:
    return {"shape": list(tensor.shape), "dtype": str(tensor.dtype).removeprefix("torch.")}

"""Observations of lesson 07: Adafactor."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from grader.device import lesson_device
from grader.lessons.adafactor.elements import elements_cases
from grader.lessons.adafactor.forms import adafactor_forms_cases
from grader.lessons.adafactor.moments import MOMENT_STEPS, MomentCase, moment_cases
from grader.lessons.adafactor.rates import rate_cases
from grader.lessons.adafactor.records import kept_numbers
from grader.lessons.adafactor.refusals import refuse_adafactor
from grader.lessons.adafactor.updates import STEPS, AdafactorCase, adafactor_cases
from grader.observation import Observation
from grader.observing.arguments import tell_arguments
from grader.observing.contract import fail, require_number, require_tensor
from grader.observing.optimizer_forms import observe_optimizer_form
from grader.observing.running import make_check
from grader.observing.state_records import is_as_before
from grader.observing.step_records import StepRecord, copies, on_device
from grader.testbed.own_optimizer import OwnOptimizer

FORMS_PARAMETERS = ("model", "dataset", "rows", "lr", "library")
LINES_OF_MOMENT = (
    "You call a library. Write the three lines by hand: row means, column means, and the matrix that they stand for."
)
LINE_OF_RATE = "You call a library. Look at the two options of each form, and at the table of the lesson."
LINES_OF_STEP = (
    "You call a library. Write the update by hand: the means, the division by the root, the clipping, the decay, the "
    "step."
)


@make_check("predict_adafactor_elements", ("parameters", "library"))
def check_adafactor_elements(predict_adafactor_elements: Callable[..., Any], seed: int) -> Observation:
    """Ask for the state of six lists of parameters, which have shapes and no values."""
    predicted = []
    look_at = (
        "You let a library count. Read in the text what it keeps of a matrix and of a vector, and which single numbers."
    )
    for case in elements_cases(seed):
        with (
            refuse_adafactor("a prediction, from the parameters and the name of the library", look_at),
            tell_arguments("predict_adafactor_elements", library=case.optimizer),
        ):
            parameters = case.make_parameters()
            received = list(parameters)
            answer = predict_adafactor_elements(received, case.optimizer)
        if not is_as_before(received, parameters, [kind.is_trained for kind in case.tensors]):
            changes = "You change the parameters that you count. Look for pop, requires_grad_ or parameters[:] = ..."
            fail("parameters_changed", "the parameters as they were", "another list, or other parameters", changes)
        predicted.append(require_number(answer, "the elements of the state"))
    return Observation({"predicted_elements": predicted})


@make_check("factored_second_moment", ("gradient", "state", "decay_rate", "eps"))
def check_factored_moment(factored_second_moment: Callable[..., Any], seed: int) -> Observation:
    """Pass in the gradients of five tensors, step by step."""
    settings, tensors = [], {}
    for number, case in enumerate(moment_cases(seed)):
        state: dict[str, Any] = {}
        is_changed, rows = False, []
        for step in range(1, MOMENT_STEPS + 1):
            gradient = case.gradient(step).to(lesson_device())
            kept = gradient.clone()
            state = _copied(state)
            estimate = _call_moment(factored_second_moment, gradient, state, case)
            if step == 1:
                after_first = _copied(state)
            rows.append(_require_estimate(estimate, kept).cpu().clone())
            is_changed |= not torch.equal(gradient, kept)
        settings.append({"state_elements": kept_numbers(state), "is_gradient_changed": is_changed})
        tensors[str(number)] = torch.stack(rows)
        second = case.gradient(2).to(lesson_device())  # once more, from the state as it was before
        again = _call_moment(factored_second_moment, second, after_first, case)
        tensors[f"{number}.again"] = _require_estimate(again, second).cpu().clone()
    return Observation({"settings": settings}, tensors)


def _copied(state: dict[str, Any]) -> dict[str, Any]:
    """Copy the state, as if it came from a checkpoint."""
    try:
        return copy.deepcopy(state)
    except Exception as error:
        look_at = "You keep something in the state that cannot be copied. Keep tensors and numbers only."
        fail("state_not_copied", "a state that can be copied", f"{type(error).__name__}: {error}"[:120], look_at)


def _call_moment(answer: Callable[..., Any], gradient: Tensor, state: dict[str, Any], case: MomentCase) -> Any:
    try:
        with (
            refuse_adafactor("the second moment by hand", LINES_OF_MOMENT),
            tell_arguments("factored_second_moment", shape=case.shape),
            torch.no_grad(),
        ):
            return answer(gradient, state, case.decay_rate, case.eps)
    except Exception as error:
        if "size of tensor" not in str(error) and "output with shape" not in str(error):
            raise
        if not state:
            look_at = (
                "You leave the `state` that your function receives empty. Fill it: only it comes back at the next step."
            )
            fail(
                "state_not_filled",
                "means in the state that your function receives",
                "an empty state, and an error",
                look_at,
            )
        rows, columns = case.shape[-2:]
        if len(case.shape) > 2:
            look_at = (
                "You compute for one matrix, and this is a stack. Take the means over dimensions -1 and -2; "
                "1 and 0 are right for one matrix only. A mean that divides needs keepdim=True."
            )
            fail(
                "stack_not_expected",
                f"a stack of {' x '.join(map(str, case.shape))} numbers",
                str(error)[:120],
                look_at,
            )
        expected = f"{rows} row means and {columns} column means of a matrix of {rows} x {columns}"
        look_at = (
            "You combine tensors whose shapes do not match. A row mean runs over dimension -1, a column mean over -2; "
            "the product is that of [rows, 1] and [1, columns]: unsqueeze(-1), unsqueeze(-2). With keepdim=True the "
            "state needs these shapes, too."
        )
        fail("shapes_do_not_meet", expected, str(error).partition("] ")[2] or str(error), look_at)


def _require_estimate(value: object, gradient: Tensor) -> Tensor:
    """Fail unless `value` is a tensor like the gradient; NaN and infinity are left to the judge."""
    what = "the second moment"
    if isinstance(value, Tensor) and value.layout is not torch.strided:
        fail(
            "wrong_layout",
            f"{what}: a plain tensor",
            str(value.layout),
            "You return a sparse tensor. Return a dense one.",
        )
    if isinstance(value, Tensor) and value.shape != gradient.shape and value.shape == gradient.mT.shape:
        look_at = "You exchange rows and columns. A row mean belongs to [rows, 1], a column mean to [1, columns]."
        fail("transposed", f"{what}: {tuple(gradient.shape)}", f"{tuple(value.shape)}", look_at)
    if isinstance(value, Tensor) and value.is_floating_point():
        require_tensor(value.detach().nan_to_num(), what, like=gradient)
        return value.detach()
    return require_tensor(value, what, like=gradient)


@make_check("adafactor_step", ("optimizer",))
def check_adafactor_steps(adafactor_step: Callable[..., Any], seed: int) -> Observation:
    """Take 20 steps of an optimizer with groups."""
    settings = []
    tensors: dict[str, Tensor] = {}
    for number, case in enumerate(adafactor_cases(seed)):
        facts, rows = _observe_steps(adafactor_step, case)
        settings.append(facts)
        tensors |= {f"{number}.{index}": row for index, row in enumerate(rows)}
    return Observation({"settings": settings}, tensors)


def _observe_steps(adafactor_step: Callable[..., Any], case: AdafactorCase) -> tuple[dict[str, Any], list[Tensor]]:
    weights = [torch.nn.Parameter(weight.to(lesson_device())) for weight in case.make_weights()]
    groups = [
        {"params": [weights[index] for index in case.members(group)], **case.options(group, 1)}
        for group in range(len(case.decays))
    ]
    optimizer = OwnOptimizer(adafactor_step, groups)
    recorder = StepRecord(weights)
    shapes = [tuple(shape) for shape in case.shapes]
    for step in range(1, STEPS + 1):
        gradients = on_device(case.gradients(step))
        kept = copies(gradients)
        for number, group in enumerate(optimizer.param_groups):
            group.update(case.options(number, step))
        for weight, gradient in zip(weights, gradients, strict=True):
            weight.grad = gradient
        with (
            refuse_adafactor("Adafactor written by hand", LINES_OF_STEP),
            tell_arguments("adafactor_step", shapes=shapes, step=step),
        ):
            optimizer.step()
        _require_untouched(optimizer, case, step)
        if any(weight.grad is not gradient for weight, gradient in zip(weights, gradients, strict=True)):
            look_at = (
                "You clear or replace a gradient. Leave .grad alone: the training loop clears it, with zero_grad()."
            )
            fail("gradient_cleared", "every .grad as it was", "another .grad after the step", look_at)
        recorder.note(gradients, kept)
    states = [optimizer.state[weight] if weight in optimizer.state else {} for weight in weights]
    return recorder.facts(states) | {"state_elements": [kept_numbers(state) for state in states]}, recorder.rows()


def _require_untouched(optimizer: torch.optim.Optimizer, case: AdafactorCase, step: int) -> None:
    """Fail if a step wrote into the options of a group."""
    for number, group in enumerate(optimizer.param_groups):
        for name, value in case.options(number, step).items():
            if group.get(name) != value:
                look_at = "You write into the options of a group. Give the rate of one tensor a name of its own."
                fail(
                    "options_changed",
                    f"{name} {value} of a group, as it was",
                    f"{name} {group.get(name)}"[:80],
                    look_at,
                )


@make_check("train_adafactor_with_accelerate", FORMS_PARAMETERS)
def check_adafactor_accelerate(train_adafactor_with_accelerate: Callable[..., Any], seed: int) -> Observation:
    """Train with Accelerate, with the Adafactor of either library."""
    return observe_optimizer_form(train_adafactor_with_accelerate, adafactor_forms_cases(seed))


@make_check("train_adafactor_with_trainer", FORMS_PARAMETERS)
def check_adafactor_trainer(train_adafactor_with_trainer: Callable[..., Any], seed: int) -> Observation:
    """Train with the Trainer, with the Adafactor of either library."""
    return observe_optimizer_form(train_adafactor_with_trainer, adafactor_forms_cases(seed))


@make_check("adafactor_rate", ("form", "lr", "step", "weight_rms"))
def check_adafactor_rates(adafactor_rate: Callable[..., Any], seed: int) -> Observation:
    """Ask for the learning rate of every form, at early and late steps."""
    rates = []
    for case in rate_cases(seed):
        with (
            refuse_adafactor("the rate, computed by hand", LINE_OF_RATE),
            tell_arguments("adafactor_rate", **vars(case)),
        ):
            answer = adafactor_rate(case.form, case.lr, case.step, case.weight_rms)
            rates.append(require_number(answer, f"the rate of {case.form!r}"))
    return Observation({"rates": rates})

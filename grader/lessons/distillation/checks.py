"""Checks of lesson 22: distillation."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from torch import Tensor

from grader.lessons.distillation.logits import gradient_cases, loss_cases, run_gradient, run_loss
from grader.lessons.distillation.runs import distil_cases, run_distil, run_trainer, trainer_cases
from grader.observation import Observation
from grader.observing.contract import fail, require_number
from grader.observing.running import make_check


@make_check("soft_gradient", ("student_logits", "teacher_logits", "temperature"))
def check_soft_gradient(soft_gradient: Callable[..., Any], seed: int) -> Observation:
    """Ask for the gradient of five rows."""
    answers = [_tensor(run_gradient(soft_gradient, case), (case.classes,)) for case in gradient_cases(seed)]
    return Observation({}, {str(index): answer.double().cpu() for index, answer in enumerate(answers)})


@make_check("distillation_loss", ("student_logits", "teacher_logits", "labels", "temperature", "alpha"))
def check_distillation_loss(distillation_loss: Callable[..., Any], seed: int) -> Observation:
    """Compute losses and their gradients, among them each of the two alone."""

    def scalar(*arguments: Any) -> Tensor:
        return _tensor(distillation_loss(*arguments), ())

    runs = [run_loss(scalar, case) for case in loss_cases(seed)]
    return Observation({}, {f"{name}.{index}": run[name].double() for index, run in enumerate(runs) for name in run})


@make_check("distil", ("student", "teacher", "loss_function", "batches", "learning_rate"))
def check_distilled_student(distil: Callable[..., Any], seed: int) -> Observation:
    """Train two students."""
    runs, records = zip(*(run_distil(distil, case) for case in distil_cases(seed)), strict=True)
    for run in runs:
        if not isinstance(run["losses"], list | tuple):
            measured = f"a value of type {type(run['losses']).__name__}"
            fail(
                "no_list_returned", "a list with the loss of each update", measured, "Return one number for each batch."
            )
    losses = [[require_number(loss, "the loss") for loss in run["losses"]] for run in runs]
    weights = {str(index): run["weights"] for index, run in enumerate(runs)}
    return Observation({"losses": losses, "records": list(records)}, weights)


@make_check("distil_with_trainer", ("student", "teacher", "loss_function", "dataset", "rows", "learning_rate"))
def check_distillation_trainer(distil_with_trainer: Callable[..., Any], seed: int) -> Observation:
    """Train two students with the Trainer."""
    runs, records = zip(*(run_trainer(distil_with_trainer, case) for case in trainer_cases(seed)), strict=True)
    return Observation({"records": list(records)}, {str(index): run["weights"] for index, run in enumerate(runs)})


def _tensor(value: Any, shape: tuple[int, ...]) -> Tensor:
    expected = f"a tensor of shape {list(shape)}"
    if not isinstance(value, Tensor):
        fail("no_tensor_returned", expected, f"a value of type {type(value).__name__}", "Return a tensor.")
    if value.shape != shape:
        look_at = "Your tensor has another shape. Look at the dimension over which you add or average."
        if value.numel() == prod(shape):
            look_at = "Your tensor has an extra dimension of size 1. Look at where you add it, and index it away."
        fail("another_shape", expected, f"shape {list(value.shape)}", look_at)
    return value

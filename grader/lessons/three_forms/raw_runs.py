"""Runs a learner's loop on one case, and records what it does."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.optimizer import register_optimizer_step_pre_hook

from grader.device import lesson_device
from grader.lessons.three_forms.loop import RunCase
from grader.observing.contract import fail, require_number
from grader.observing.recording import TrainingRecord, record_training

Facts = dict[str, Any]


def observe_run(case: RunCase, train: Callable[..., Any]) -> tuple[TrainingRecord, Facts, Any]:
    """Call `train(model, dataset, rows, learning_rate)` on a model in eval mode.

    Returns:
        The record of the training, the facts of the forwards, and what `train` returned.
    """
    model = case.make_model().to(lesson_device()).eval()
    with record_training(model) as record, watch_losses(model) as has_loss:
        try:
            returned = train(model, case.make_dataset(), case.rows, case.learning_rate)
        except (AttributeError, TypeError):
            if has_loss and not has_loss[-1]:
                look_at = "You leave out the labels, so the model computes no loss. Pass all columns of the batch."
                fail("labels_left_out", "an output with a loss", "an output whose loss is None", look_at)
            raise
    return record, record.facts(), returned


def tensors_of_updates(record: TrainingRecord, index: int, case: RunCase) -> dict[str, Tensor]:
    """Return gradients and weights of as many updates as a right run has: more of them exceed what is judged."""
    updates = case.updates_per_epoch * case.epochs
    tensors = record.tensors(str(index))
    return {name: tensor for name, tensor in tensors.items() if int(name.rpartition(".")[2]) <= updates}


def require_losses(value: object) -> list[float]:
    """Fail unless `value` is a list, a tuple, an array or a tensor of numbers."""
    expected = "the loss of each update: a list of numbers"
    if value is None:
        fail("returned_none", expected, "None", "You return nothing. Look at the end of your function.")
    is_array = isinstance(value, Tensor) or type(value).__module__ == "numpy"
    if isinstance(value, int | float) or (is_array and getattr(value, "ndim", 1) == 0):
        look_at = "You return one number. Return a list with the loss of each update."
        fail("one_number_returned", expected, f"one number, {require_number(value, 'a loss'):.4g}", look_at)
    if is_array and getattr(value, "ndim", 0) == 1:
        value = list(value)  # type: ignore[call-overload]
    if not isinstance(value, Sequence) or isinstance(value, str):
        fail("wrong_type", expected, type(value).__name__, "You return something else than a list of numbers.")
    return [require_number(loss, "the loss of an update") for loss in value]


@contextlib.contextmanager
def watch_losses(model: nn.Module) -> Iterator[list[bool]]:
    """Note for each forward whether its output held a loss, and refuse a closure."""
    has_loss: list[bool] = []

    def after_forward(_: nn.Module, __: Any, output: Any) -> None:
        has_loss.append(getattr(output, "loss", None) is not None)

    def before_update(_: torch.optim.Optimizer, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        closures = [*arguments[1:], *keywords.values()]  # the first is the optimizer itself
        if any(closure is not None for closure in closures):
            look_at = "You pass a closure to step(). Call backward() on a line of its own, before step()."
            fail("closure_used", "optimizer.step() after backward()", "optimizer.step(closure)", look_at)

    handles = [model.register_forward_hook(after_forward), register_optimizer_step_pre_hook(before_update)]
    try:
        yield has_loss
    finally:
        for handle in handles:
            handle.remove()

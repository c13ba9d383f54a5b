"""Runs a learner's loss scaler, and a learner's fp16 updates, on one case, and records what they do."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grader.device import lesson_device
from grader.lessons.mixed_precision.groups import FP16_LEARNING_RATE, GroupCase
from grader.lessons.mixed_precision.scaler_errors import explain_scaler_errors
from grader.lessons.mixed_precision.scales import ScalerCase
from grader.observing.contract import require_number
from grader.observing.precision import record_precision
from grader.observing.recording import record_training
from grader.testbed.regressions import MicroBatch

Facts = dict[str, Any]
Tensors = dict[str, Tensor]


def observe_scaler(scaled_update: Callable[..., Any], case: ScalerCase) -> tuple[Facts, Tensors]:
    """Call `scaled_update(scaler, optimizer)` once for each update of a case, with the gradients of that update.

    Returns:
        The "scales" after the calls and the "optimizer_steps" in each; the first step's gradient and the weights after
        each call, by name.
    """
    weights = [nn.Parameter(weight.to(lesson_device())) for weight in case.make_weights()]
    optimizer = case.make_optimizer(weights)
    state = {"scale": case.start_scale, "growth_interval": case.growth_interval, "good_updates": 0}
    scaler, scales, steps = SimpleNamespace(**state), [], []
    tensors: Tensors = {}
    for update in range(case.updates):
        scaled = case.scaled_gradients(update, float(scaler.scale))
        for weight, gradient in zip(weights, scaled, strict=False):
            weight.grad = gradient.to(weight.device)
        with _recorded_steps(optimizer, weights[: len(scaled)]) as gradients:
            scaled_update(scaler, optimizer)
        scaler.scale = float(require_number(scaler.scale, "scaler.scale", is_finite=False))
        scales.append(scaler.scale)
        steps.append(len(gradients))
        tensors |= {f"gradient.{update}": gradients[0]} if gradients else {}
        tensors[f"weights.{update}"] = torch.cat([weight.detach().flatten() for weight in weights])
    return {"scales": scales, "optimizer_steps": steps}, tensors


@contextlib.contextmanager
def _recorded_steps(optimizer: torch.optim.Optimizer, weights: list[nn.Parameter]) -> Iterator[list[Tensor]]:
    """Record the gradient of every step, in one vector; a weight without one counts as zero."""
    gradients: list[Tensor] = []

    def before_step(*_: Any) -> None:
        parts = [torch.zeros_like(weight) if weight.grad is None else weight.grad for weight in weights]
        gradients.append(torch.cat([part.detach().flatten() for part in parts]))

    handle = optimizer.register_step_pre_hook(before_step)
    try:
        yield gradients
    finally:
        handle.remove()


def observe_groups(train_group: Callable[..., Any], case: GroupCase, prefix: str) -> tuple[Facts, Tensors]:
    """Call `train_group(...)` once for each group of a case, with one scaler for all.

    Returns:
        The records of training and precision with the "norms" returned, the "scales" after the calls, and the
        "weight_formats" at the end; gradients and weights, by name.
    """
    device = lesson_device()
    model = case.make_model().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=FP16_LEARNING_RATE)
    growth_interval = case.growth_interval
    scaler = torch.amp.GradScaler(device.type, init_scale=case.start_scale, growth_interval=growth_interval)
    norms, scales = [], []
    with record_training(model) as record, record_precision(model) as precision:
        for update in range(len(case.group_sizes)):
            record.events.append("call")
            group = on_device(case.make_group(update), device)
            with explain_scaler_errors(lambda: record.events.count("call") == 1):
                norm = train_group(model, F.mse_loss, optimizer, scaler, group, case.max_norm)
            norms.append(float(require_number(norm, "the norm of the gradient", is_finite=False)))
            scales.append(scaler.get_scale())
    facts = {"norms": norms, "scales": scales, "weight_formats": weight_formats(model)}
    return record.facts() | precision.facts() | facts, record.tensors(prefix)


def on_device(micro_batches: list[MicroBatch], device: torch.device) -> list[MicroBatch]:
    """Return micro-batches on a device."""
    return [(inputs.to(device), targets.to(device)) for inputs, targets in micro_batches]


def weight_formats(model: nn.Module) -> list[str]:
    """Return the number formats of a model's weights, each once."""
    return sorted({str(weight.dtype).removeprefix("torch.") for weight in model.parameters()})

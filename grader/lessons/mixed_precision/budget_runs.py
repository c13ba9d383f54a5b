"""Runs a learner's update within a byte budget, and records its gradient and its peak."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from grader.device import lesson_device
from grader.lessons.mixed_precision.budget import BudgetCase
from grader.lessons.mixed_precision.scaler_runs import Facts, Tensors, on_device, weight_formats
from grader.observing.claims import claim_of, measure_claimed_peak
from grader.observing.contract import fail
from grader.observing.precision import record_precision
from grader.observing.recording import record_training


def observe_budget_update(update: Callable[..., Any], case: BudgetCase, prefix: str) -> tuple[Facts, Tensors]:
    """Call `update(model, optimizer, tokens, targets)` once.

    Returns:
        The records of training and precision with the "weight_formats" at the end, and the "given_steps" that the
        optimizer of the case took; gradients and weights, by name.
    """
    model = case.make_model().to(lesson_device())
    optimizer = case.make_optimizer(model)
    batch = on_device([case.make_batch()], lesson_device())[0]
    steps: list[str] = []
    handle = optimizer.register_step_pre_hook(lambda *_: steps.append("step"))
    try:
        with record_training(model) as record, record_precision(model) as precision:
            update(model, optimizer, *batch)
    finally:
        handle.remove()
    facts = {"weight_formats": weight_formats(model), "given_steps": len(steps)}
    return record.facts() | precision.facts() | facts, record.tensors(prefix)


def observe_budget_peak(update: Callable[..., Any], case: BudgetCase) -> Facts:
    """Measure the peak of `update(model, optimizer, tokens, targets)`.

    Returns:
        "block_rows", the rows of each forward of the first block; "events", its forwards, recomputations and
        backwards in order; "peak_weight_formats"; and the peak under "claims".
    """
    model = case.make_model().to(lesson_device())
    optimizer = case.make_optimizer(model)
    batch = on_device([case.make_batch()], lesson_device())[0]
    block_rows: list[int] = []
    events: list[str] = []

    def before_block(_: nn.Module, states: tuple[Tensor, ...]) -> None:
        is_in_backward = torch._C._current_graph_task_id() != -1
        block_rows.append(states[0].shape[0])
        events.append("recomputed" if is_in_backward else "forward")

    head: Any = model.head.weight
    handles = [
        model.blocks[0].register_forward_pre_hook(before_block),
        head.register_post_accumulate_grad_hook(lambda _: events.append("backward")),
    ]

    def step() -> None:
        update(model, optimizer, *batch)
        optimizer.zero_grad()

    try:
        peak = measure_claimed_peak(step, model=model, optimizer=optimizer, inputs=batch)
    except ValueError as error:
        if "more memory" not in str(error):
            raise
        fail(
            "memory_kept",
            "no tensor kept after the call",
            str(error),
            "You keep tensors after the call. Look for lists, attributes or globals that hold them.",
        )
    finally:
        for handle in handles:
            handle.remove()
    claims = [claim_of(peak, lesson_device())]
    return {"block_rows": block_rows, "events": events, "peak_weight_formats": weight_formats(model), "claims": claims}

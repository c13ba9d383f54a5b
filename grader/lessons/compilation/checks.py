"""Checks of lesson 13: compilation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from grader.device import lesson_device
from grader.lessons.compilation.breaks import run_captured, trimmed_cases
from grader.lessons.compilation.chunks import (
    ChunkPeakCase,
    RowsAtOnce,
    chunk_cases,
    chunk_peak_case,
    chunk_rows_case,
    count_kept_bytes,
    name_refused_gradients,
    refuse_fused_loss,
    run_chunked,
)
from grader.lessons.compilation.forms import compiled_cases, run_compiled
from grader.lessons.compilation.lean_step import (
    StepCase,
    make_lean_case,
    measure_lean_peak,
    run_step,
    step_gradient_cases,
)
from grader.lessons.compilation.traffic import traffic_cases
from grader.observation import Observation
from grader.observing.claims import claim_of, measure_claimed_peak
from grader.observing.contract import fail, require_number
from grader.observing.running import make_check

CHUNK_PARAMETERS = ("hidden", "weight", "targets", "chunk_rows")
FORM_PARAMETERS = ("model", "dataset", "rows", "learning_rate", "backend")


@make_check("predict_traffic", ("operations", "inputs", "kept", "elements", "element_bytes"))
def check_predicted_traffic(predict_traffic: Callable[..., Any], seed: int) -> Observation:
    """Ask for the traffic of four chains."""
    answers = []
    for case in traffic_cases(seed):
        operations, inputs = [(result, list(read)) for result, read in case.operations], dict(case.inputs)
        answer = predict_traffic(operations, inputs, set(case.kept), case.elements, case.element_bytes)
        if not isinstance(answer, tuple | list) or len(answer) != 2:
            expected = "(eager, fused): two numbers of bytes"
            look_at = "You return something else. Return the bytes of both, in this order."
            fail("no_pair_returned", expected, f"a value of type {type(answer).__name__}", look_at)
        eager, fused = (require_number(value, "the bytes moved") for value in answer)
        answers.append({"eager": eager, "fused": fused})
    return Observation({"answers": answers})


@make_check("trimmed_loss", ("model", "inputs", "targets", "limit"))
def check_unbroken_loss(trimmed_loss: Callable[..., Any], seed: int) -> Observation:
    """Run the function through torch.compile on batches of two shapes, on the CPU."""
    settings, values = [], []
    tensors: dict[str, Tensor] = {}
    for index, case in enumerate(trimmed_cases(seed)):
        batches, facts = run_captured(trimmed_loss, case)
        tensors[str(index)] = torch.stack([batch.pop("gradient") for batch in batches])
        settings.append(facts)
        values.append(batches)
    return Observation({"settings": settings, "values": values}, tensors)


@make_check("chunked_cross_entropy", CHUNK_PARAMETERS)
def check_chunked_gradients(chunked_cross_entropy: Callable[..., Any], seed: int) -> Observation:
    """Run four losses forward and backward, on the CPU in float64."""
    tensors: dict[str, Tensor] = {}
    losses = []
    for index, case in enumerate(chunk_cases(seed)):
        with refuse_fused_loss():
            value = run_chunked(chunked_cross_entropy, case)
        losses.append(value["loss"])
        tensors |= {f"{index}.{name}": value[name] for name in ("hidden", "weight")}
    return Observation({"losses": losses}, tensors)


@make_check("chunked_cross_entropy", CHUNK_PARAMETERS)
def check_chunked_peak(chunked_cross_entropy: Callable[..., Any], seed: int) -> Observation:
    """Measure what a loss over a large vocabulary saves and the peak of its step, then the rows of its chunks."""
    case = chunk_peak_case(seed)
    head = case.make_head().to(lesson_device())
    hidden, targets = (tensor.detach().to(lesson_device()) for tensor in case.draw())
    hidden.requires_grad_()

    def loss() -> Tensor:
        value: Tensor = chunked_cross_entropy(hidden, head.weight, targets, case.chunk_rows)
        return value

    def step() -> None:
        hidden.grad = head.weight.grad = None
        with name_refused_gradients():
            torch.autograd.backward(loss())
        hidden.grad = head.weight.grad = None

    with refuse_fused_loss():
        saved_bytes = count_kept_bytes(loss, [head.weight])
        peak = measure_claimed_peak(step, model=head, inputs=(hidden, targets))
        rows = _count_rows_at_once(chunked_cross_entropy, chunk_rows_case(seed))
    return Observation({"saved_bytes": saved_bytes, "rows": rows, "claims": [claim_of(peak, lesson_device())]})


def _count_rows_at_once(chunked_cross_entropy: Callable[..., Any], case: ChunkPeakCase) -> int:
    weight = case.make_head().weight.to(lesson_device()).detach().requires_grad_()
    hidden, targets = (tensor.detach().to(lesson_device()) for tensor in case.draw())
    with RowsAtOnce(case.vocabulary) as seen, name_refused_gradients():
        torch.autograd.backward(chunked_cross_entropy(hidden.requires_grad_(), weight, targets, case.chunk_rows))
    return int(seen.rows)


@make_check("compile_with_accelerate", FORM_PARAMETERS)
def check_compiled_accelerate(compile_with_accelerate: Callable[..., Any], seed: int) -> Observation:
    """Train a compiled classifier for one epoch in a loop with Accelerate, twice."""
    return _observe_form(compile_with_accelerate, seed)


@make_check("compile_with_trainer", FORM_PARAMETERS)
def check_compiled_trainer(compile_with_trainer: Callable[..., Any], seed: int) -> Observation:
    """Train a compiled classifier for one epoch with the Trainer, twice."""
    return _observe_form(compile_with_trainer, seed)


def _observe_form(train: Callable[..., Any], seed: int) -> Observation:
    runs = [run_compiled(train, case) for case in compiled_cases(seed)]
    tensors = {str(index): value["weights"] for index, (value, _) in enumerate(runs)}
    return Observation({"calls": [facts for _, facts in runs]}, tensors)


@make_check("lean_step", ("model", "optimizer", "texts"))
def check_lean_gradient(lean_step: Callable[..., Any], seed: int) -> Observation:
    """Take one step in each of four small settings."""
    return Observation(*_observe_steps(lean_step, step_gradient_cases(seed)))


@make_check("lean_step", ("model", "optimizer", "texts"))
def check_lean_step(lean_step: Callable[..., Any], seed: int) -> Observation:
    """Count the operations of a large step, and measure its peak."""
    facts, tensors = _observe_steps(lean_step, (make_lean_case(seed),))
    return Observation(facts | {"claims": [measure_lean_peak(lean_step, make_lean_case(seed))]}, tensors)


def _observe_steps(step: Callable[..., Any], cases: tuple[StepCase, ...]) -> tuple[dict[str, Any], dict[str, Tensor]]:
    runs = [run_step(step, case) for case in cases]
    tensors = {f"{index}.{name}": value for index, (_, found) in enumerate(runs) for name, value in found.items()}
    return {"settings": [facts for facts, _ in runs]}, tensors

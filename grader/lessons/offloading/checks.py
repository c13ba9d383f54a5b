"""Observes the answers of lesson 19, offloading."""

from __future__ import annotations

import math
import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor, nn

from grader.device import lesson_device
from grader.lessons.offloading.job import job_cases, observe_job
from grader.lessons.offloading.saved import saved_cases, saved_peak_case
from grader.lessons.offloading.states import StreamedCase, adamw_update, streamed_cases, streamed_peak_case
from grader.lessons.offloading.streams import streamed_models
from grader.lessons.offloading.watched import StorageWatch, WatchedFarMemory
from grader.observation import Observation
from grader.observing.claims import claim_of, measure_claimed_peak
from grader.observing.contract import fail, require_number
from grader.observing.rank_runs import run_on_ranks
from grader.observing.running import make_check
from grader.testbed.far_memory import FarMemory

STREAM_PARAMETERS = ("layer_bytes", "forward_seconds", "bytes_per_second", "prefetch")
SAVED_PARAMETERS = ("model", "far", "threshold_bytes")
STATE_PARAMETERS = ("parameters", "far", "chunk", "update")
JOB_PARAMETERS = ("model", "batches", "budget_bytes")

Facts = dict[str, Any]


@make_check("predict_streamed", STREAM_PARAMETERS)
def check_streamed_prediction(predict_streamed: Callable[..., Any], seed: int) -> Observation:
    """Ask for peak and time of seven models."""
    predicted = []
    for model in streamed_models(seed):
        sizes, seconds = list(model.layer_bytes), list(model.forward_seconds)
        answer = predict_streamed(sizes, seconds, model.bytes_per_second, model.prefetch)
        if not isinstance(answer, tuple | list) or len(answer) != 2:
            found = "None" if answer is None else f"{type(answer).__name__}: {answer!r}"[:80]
            look_at = "You do not return a pair. Return two numbers: peak bytes, then seconds."
            fail("returned_none" if answer is None else "no_pair", "two numbers: bytes, seconds", found, look_at)
        predicted.append([require_number(answer[0], "the peak in bytes"), require_number(answer[1], "the seconds")])
    return Observation({"predicted": predicted})


@make_check("offload_saved", SAVED_PARAMETERS)
def check_offloaded_gradients(offload_saved: Callable[..., Any], seed: int) -> Observation:
    """Run three settings forward and backward, on the CPU: random numbers differ between devices."""
    return _observe_saved(offload_saved, seed)


@make_check("offload_saved", SAVED_PARAMETERS)
def check_offloaded_tensors(offload_saved: Callable[..., Any], seed: int) -> Observation:
    """Run the same settings, for what is sent to far memory."""
    return _observe_saved(offload_saved, seed)


@make_check("offload_saved", SAVED_PARAMETERS)
def check_offloaded_peak(offload_saved: Callable[..., Any], seed: int) -> Observation:
    """Measure the peak of eight blocks, and what is left of the tensors that crossed."""
    case = saved_peak_case(seed)
    model, inputs = case.make_model().to(lesson_device()), case.make_inputs().to(lesson_device())
    far = WatchedFarMemory()
    kept = {"after forward": 0, "after backward": 0}

    def step() -> None:
        model.zero_grad()
        manager = _require_manager(offload_saved(model, far, case.threshold_bytes))  # its hooks live as long as this
        with manager:
            loss = model(inputs).square().mean()
        kept["after forward"] = far.sent.held_bytes(inputs, loss)
        if not loss.requires_grad:
            fail(
                "no_graph", "a loss that needs a gradient", "a loss without a graph", "You run forward without a graph."
            )
        _run_backward(loss)
        kept["after backward"] = far.fetched.held_bytes(inputs, loss)

    claim = _claim(step, model=model, inputs=inputs)
    return Observation({"sent": far.sent_bytes, "fetched": far.fetched_bytes, "kept": kept, "claims": [claim]})


def _observe_saved(offload_saved: Callable[..., Any], seed: int) -> Observation:
    settings: list[Facts] = []
    tensors: dict[str, Tensor] = {}
    for index, case in enumerate(saved_cases(seed)):
        model, far = case.make(), FarMemory()
        with torch.random.fork_rng(devices=[]):
            with _require_manager(offload_saved(model, far, case.threshold_bytes)):
                loss = case.run(model)
            held = far.held_bytes
            if loss.requires_grad:
                _run_backward(loss)
        sent = [[math.prod(one.shape), one.dtype] for one in far.transfers if one.direction == "put"]
        trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
        settings.append(
            {
                "needs_gradient": loss.requires_grad,
                "missing": sum(parameter.grad is None for parameter in trained),
                "sent": sent,
                "held_bytes": held,
                "sent_bytes": far.sent_bytes,
                "fetched_bytes": far.fetched_bytes,
            }
        )
        gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in trained]
        tensors |= {f"{index}.loss": loss, f"{index}.gradient": torch.cat([one.flatten() for one in gradients])}
    return Observation({"settings": settings}, {name: tensor.detach() for name, tensor in tensors.items()})


def _run_backward(loss: Tensor) -> None:
    """Run backward; name the reason where PyTorch itself rejects what the learner's `unpack` returned."""
    try:
        torch.autograd.backward(loss)
    except RuntimeError as error:
        if not traceback.extract_tb(error.__traceback__)[-1].filename.endswith("graph.py"):
            raise
        look_at = (
            "You hand backward another tensor than was saved, or one of another dtype. What is sent is freed, so its "
            "`id` and its address serve the next tensor: a memory of what was sent must not rely on them."
        )
        fail("another_tensor_returned", "tensors as they were saved", f"PyTorch rejects one: {error}"[:120], look_at)


def _require_manager(value: Any) -> AbstractContextManager[Any]:
    if hasattr(value, "__enter__"):
        return value  # type: ignore[no-any-return]
    if isinstance(value, tuple) and len(value) == 2:
        look_at = "You return the two hooks. Return the context manager that PyTorch makes of them."
        fail("hooks_returned", "a context manager", "a pair", look_at)
    found = type(value).__name__
    look_at = "You return no context manager. torch.autograd.graph.saved_tensors_hooks(pack, unpack) makes one."
    fail("no_context_manager", "a context manager", found, look_at)


@make_check("make_streamed_step", STATE_PARAMETERS)
def check_streamed_weights(make_streamed_step: Callable[..., Any], seed: int) -> Observation:
    """Take a few updates of two lists of parameters."""
    return _observe_updates(make_streamed_step, seed)


@make_check("make_streamed_step", STATE_PARAMETERS)
def check_streamed_traffic(make_streamed_step: Callable[..., Any], seed: int) -> Observation:
    """Take the same updates, for the sizes of chunks and the bytes that cross the link."""
    return _observe_updates(make_streamed_step, seed)


@make_check("make_streamed_step", STATE_PARAMETERS)
def check_streamed_peak(make_streamed_step: Callable[..., Any], seed: int) -> Observation:
    """Measure the peak of an update of about a million numbers."""
    case = streamed_peak_case(seed)
    parameters = [nn.Parameter(weight.to(lesson_device())) for weight in case.make_weights()]
    for parameter, gradient in zip(parameters, case.make_gradients(0), strict=True):
        parameter.grad = None if gradient is None else gradient.to(lesson_device())
    far = WatchedFarMemory()
    steps: list[Callable[[], object]] = []
    held = [0]

    def update(weight: Tensor, gradient: Tensor, first: Tensor, second: Tensor, step: int) -> None:
        far.fetched.add(first, second)
        held.append(far.fetched.held_bytes())
        if weight.numel() < case.chunk // 64:  # a shortest tail has four times as many; millions of calls take minutes
            look_at = "You cut pieces far smaller than a chunk. `chunk` is how many numbers a piece has."
            fail("other_chunks", f"chunks of {case.chunk} numbers", f"{weight.numel()} numbers", look_at)
        adamw_update(weight, gradient, first, second, step)

    def step() -> None:
        if not steps:  # in the first call, so that what is allocated here is counted, too
            steps.append(_require_step(make_streamed_step(parameters, far, case.chunk, update)))
        steps[0]()

    gradients = [parameter.grad for parameter in parameters]
    claim = _claim(step, inputs=[parameters, gradients])
    return Observation({"moment_bytes": max(held), "claims": [claim]})


@make_check("train_together", JOB_PARAMETERS)
def check_shared_job(train_together: Callable[..., Any], seed: int) -> Observation:
    """Train on four ranks and on three, for the weights and for the peak of each rank."""
    settings: list[list[Facts]] = []
    tensors: dict[str, Tensor] = {}
    for number, case in enumerate(job_cases(seed)):
        arguments: dict[str, Any] = {"answer": train_together, "seed": seed, "number": number}
        reports = run_on_ranks(observe_job, case.world_size, "train_together", **arguments).returned
        settings.append([report["facts"] for report in reports])
        tensors |= {f"{number}.{rank}.weights": one["tensors"]["weights"] for rank, one in enumerate(reports)}
    return Observation({"settings": settings}, tensors)


def _observe_updates(make_streamed_step: Callable[..., Any], seed: int) -> Observation:
    settings: list[Facts] = []
    tensors: dict[str, Tensor] = {}
    for index, case in enumerate(streamed_cases(seed)):
        facts, weights = _take_updates(make_streamed_step, case)
        settings.append(facts)
        tensors[f"{index}.weights"] = weights
    return Observation({"settings": settings}, tensors)


def _take_updates(make_streamed_step: Callable[..., Any], case: StreamedCase) -> tuple[Facts, Tensor]:
    parameters = [nn.Parameter(weight.to(lesson_device())) for weight in case.make_weights()]
    far, moments, sizes, rows = FarMemory(), StorageWatch(), [], []

    def update(weight: Tensor, gradient: Tensor, first: Tensor, second: Tensor, step: int) -> None:
        sizes.append(weight.numel())
        moments.add(first, second)
        if {first.numel(), second.numel()} != {weight.numel()}:
            expected, found = f"moments of {weight.numel()} numbers", f"{first.numel()} and {second.numel()}"
            look_at = "You hand `update` moments of another chunk. A parameter and a place in it identify a chunk."
            fail("moments_of_another_chunk", expected, found, look_at)
        if step < 1:
            fail("counted_from_zero", "`step` from 1 on", f"{step}", "You count updates from 0. `step` counts from 1.")
        adamw_update(weight, gradient, first, second, step)

    step = _require_step(make_streamed_step(parameters, far, case.chunk, update))
    early = far.sent_bytes
    for number in range(case.updates):
        for parameter, gradient in zip(parameters, case.make_gradients(number), strict=True):
            parameter.grad = None if gradient is None else gradient.to(lesson_device())
        sent, fetched, done = far.sent_bytes, far.fetched_bytes, len(sizes)
        step()
        row = {"sent": far.sent_bytes - sent, "fetched": far.fetched_bytes - fetched, "held": far.held_bytes}
        rows.append(row | {"sizes": sizes[done:], "early": early, "kept": moments.held_bytes()})
    weights = torch.cat([parameter.detach().flatten() for parameter in parameters]).cpu()
    return {"updates": rows}, weights


def _require_step(value: Any) -> Callable[[], object]:
    if callable(value):
        return value  # type: ignore[no-any-return]
    found = "None" if value is None else type(value).__name__
    fail("no_step", "a function step()", found, "You return no function. Return `step` itself, without calling it.")


def _claim(step: Callable[[], object], **held: Any) -> Facts:
    try:
        peak = measure_claimed_peak(step, **held)
    except ValueError as error:
        if "more memory" not in str(error):
            raise
        look_at = "You hold more on the device after each step than before it. Look at what your lists keep."
        fail("device_memory_grows", "as much memory held after a step as before it", "more after it", look_at)
    return claim_of(peak, lesson_device())

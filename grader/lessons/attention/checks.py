"""Checks of lesson 12: attention."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from grader.device import lesson_device
from grader.lessons.attention.cache import cache_cases
from grader.lessons.attention.forms import LEARNING_RATE, count_fused_attention, forms_cases, long_rows_case
from grader.lessons.attention.impostors import FAULTS, impostor_cases
from grader.lessons.attention.merging import merge_cases, run_merges
from grader.lessons.attention.saved import saved_cases
from grader.lessons.attention.tiled import (
    digest_of,
    memory_case,
    refuse_fused_attention,
    require_output,
    run_tiled,
    tiled_cases,
)
from grader.meters.saved_tensors import measure_saved_tensors
from grader.observation import Observation
from grader.observing.claims import claim_of, measure_claimed_peak
from grader.observing.contract import fail, require_number
from grader.observing.form_peaks import claim_form_peak
from grader.observing.library_calls import record_library_calls
from grader.observing.recording import record_training
from grader.observing.refused_meters import refuse_saved_tensors
from grader.observing.running import make_check
from grader.observing.truths import require_names

SAVED_PARAMETERS = ("is_fused", "rows", "heads", "time", "head_dim", "number_bytes")
TILED_PARAMETERS = ("query", "key", "value", "is_causal", "tile")
FORM_PARAMETERS = ("model", "dataset", "rows", "learning_rate")
CACHE_PARAMETERS = ("layers", "heads", "key_heads", "head_dim", "time", "window", "global_every", "number_bytes")

Facts = dict[str, Any]


@make_check("attention_saved_bytes", SAVED_PARAMETERS)
def check_attention_bytes(attention_saved_bytes: Callable[..., Any], seed: int) -> Observation:
    """Ask for the bytes of four shapes, eager and fused."""
    answers = []
    for case in saved_cases(seed):
        with refuse_saved_tensors("a formula: the bytes computed from the six arguments"):
            answer = attention_saved_bytes(
                case.is_fused, case.rows, case.heads, case.time, case.head_dim, case.number_bytes
            )
        answers.append(require_number(answer, "the bytes"))
    return Observation({"answers": answers})


@make_check("merge_tile", ("highest", "total", "mixed", "scores", "value"))
def check_merged_tiles(merge_tile: Callable[..., Any], seed: int) -> Observation:
    """Merge the tiles of three cases."""
    tensors: dict[str, Tensor] = {}
    for index, case in enumerate(merge_cases(seed)):
        merged = run_merges(merge_tile, case)
        tensors |= {f"{index}.{name}": value for name, value in merged.items()}
    return Observation({}, tensors)


@make_check("tiled_attention", TILED_PARAMETERS)
def check_tiled_gradients(tiled_attention: Callable[..., Any], seed: int) -> Observation:
    """Run five attentions forward and backward, in float64 on the CPU."""
    tensors: dict[str, Tensor] = {}
    with refuse_fused_attention():
        for index, case in enumerate(tiled_cases(seed)):
            seen = run_tiled(tiled_attention, case)
            tensors |= {f"{index}.{name}": value.contiguous() for name, value in seen.items()}
    return Observation({}, tensors)


@make_check("tiled_attention", TILED_PARAMETERS)
def check_tiled_memory(tiled_attention: Callable[..., Any], seed: int) -> Observation:
    """Measure what one long attention keeps for backward, and its peak."""
    case = memory_case(seed)
    inputs = [tensor.detach().to(lesson_device()).requires_grad_() for tensor in case.draw()]
    graphs: list[Any] = []
    totals: list[Tensor] = []

    def forward() -> Tensor:
        output = require_output(tiled_attention(*inputs, case.is_causal, case.tile), inputs[0])
        graphs[:] = [output.grad_fn]
        return output

    def step() -> None:
        for tensor in inputs:
            tensor.grad = None
        total = forward().sum()
        graphs.clear()
        torch.autograd.backward(total)
        totals[:] = [total.detach()]

    with refuse_fused_attention():
        saved = measure_saved_tensors(forward)
        has_own_function = isinstance(graphs.pop(), torch.autograd.function.BackwardCFunction)
        try:
            peak = measure_claimed_peak(step, inputs=inputs)
        except ValueError as error:
            if "more memory" not in str(error):
                raise
            look_at = "You keep tensors that outlive backward. Look for globals and attributes."
            fail("memory_kept", "no tensor kept after the call", str(error), look_at)
    largest_saved_bytes = max((row.bytes_count for row in saved.rows), default=0)
    facts = {"saved_bytes": saved.total_bytes, "largest_saved_bytes": largest_saved_bytes}
    facts |= {"has_own_function": has_own_function}
    tensors = {"digest": digest_of(totals[0], inputs).cpu()}
    return Observation(facts | {"claims": [claim_of(peak, lesson_device())]}, tensors)


@make_check("attention_with_accelerate", FORM_PARAMETERS)
def check_attention_accelerate(attention_with_accelerate: Callable[..., Any], seed: int) -> Observation:
    """Train small classifiers with Accelerate, and measure the peak of one with long rows."""
    return _observe_form(attention_with_accelerate, seed)


@make_check("attention_with_trainer", FORM_PARAMETERS)
def check_attention_trainer(attention_with_trainer: Callable[..., Any], seed: int) -> Observation:
    """Train small classifiers with the Trainer, and measure the peak of one with long rows."""
    return _observe_form(attention_with_trainer, seed)


def _observe_form(train: Callable[..., Any], seed: int) -> Observation:
    settings: list[Facts] = []
    calls: list[Facts] = []
    tensors: dict[str, Tensor] = {}
    for index, case in enumerate(forms_cases(seed)):
        model = case.make_model().to(lesson_device())
        with record_training(model) as record, record_library_calls(record) as called, count_fused_attention() as fused:
            train(model, case.make_dataset(), case.rows, LEARNING_RATE)
        settings.append(record.facts() | {"fused_calls": fused.calls, "math_calls": fused.math_calls})
        calls.append(called)
        tensors |= record.tensors(str(index))
    long = long_rows_case(seed)
    dataset, model = long.make_dataset(), long.make_model().to(lesson_device())

    def run(model: Any) -> None:
        model.set_attn_implementation("eager")  # the run before may have changed it
        train(model, dataset, long.rows, LEARNING_RATE)

    return Observation({"settings": settings, "calls": calls, "claims": [claim_form_peak(run, model)]}, tensors)


@make_check("find_attention_faults", ("attend",))
def check_attention_faults(find_attention_faults: Callable[..., Any], seed: int) -> Observation:
    """Hand over ten functions, most of them with faults."""
    found = []
    for case in impostor_cases(seed):
        with torch.random.fork_rng(devices=[]):
            answer = find_attention_faults(case.make_attention())
        found.append(require_names(answer, FAULTS, "the faults of the attention"))
    return Observation({"found": found})


@make_check("cache_bytes", CACHE_PARAMETERS)
def check_cache_bytes(cache_bytes: Callable[..., Any], seed: int) -> Observation:
    """Ask for the bytes of three caches."""
    answers = []
    for case in cache_cases(seed):
        sizes = (case.layers, case.heads, case.key_heads, case.head_dim, case.time, case.window, case.global_every)
        answers.append(require_number(cache_bytes(*sizes, case.number_bytes), "the bytes of the cache"))
    return Observation({"answers": answers})

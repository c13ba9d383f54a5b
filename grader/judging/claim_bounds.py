"""Compute from a case the fewest bytes above entry that a step of it can hold, whoever wrote the step.

A claimed peak comes from a kernel that ran a learner's code, which can claim less than the step held. What a case needs
in any case bounds the claim from below: gradients that a backward makes, what a forward hands to it, and what its
own tensors take. Each bound is a case's own arithmetic, far below what the leanest right answers of the banks hold.

No lesson's judge imports this: bounds concern classes, where somebody may forge.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

FLOAT32_BYTES, HALF_BYTES = 4, 2
RECORDS_BOTH_CALLS = {"check_token_peak"}  # the one before the measured call, and the measured call


def least_claims(check: str, seed: int) -> list[int]:
    """Return for each claim of a check the fewest bytes above entry that can be true; [] if it has no bound."""
    bound = BOUNDS.get(check)
    return [] if bound is None else bound(seed)


def calls_fault(check: str, facts: Mapping[str, Any]) -> str:
    """Return why the measured call was another than the one before it, "" if both did the same.

    A function that knows which of its calls is measured would do less in that one.
    """
    if check not in RECORDS_BOTH_CALLS:
        return ""
    for name in ("events", "forward_rows"):
        done = list(facts[name])
        half = len(done) // 2
        if done[:half] != done[half:]:
            return f"the measured call did {done[half:][:4]}, the call before it {done[:half][:4]}: {name}"
    return ""


def _token_peak(seed: int) -> list[int]:
    """The logits of one row and their gradient: a row cannot be scored in parts."""
    from grader.lessons.gradient_accumulation.tokens import token_budget_case

    case = token_budget_case(seed)
    return [2 * FLOAT32_BYTES * case.time * case.vocabulary]


def _accumulation_form(seed: int) -> list[int]:
    from grader.lessons.gradient_accumulation.forms import form_peak_case

    case = form_peak_case(seed)
    time = case.make_whole_batches()[0]["input_ids"].shape[1]
    return [_feed_forward_bytes(case.make_model().config, case.rows * time)]


def _checkpointing_form(seed: int) -> list[int]:
    from grader.lessons.gradient_checkpointing.forms import form_peak_case

    return _form(form_peak_case(seed))


def _autocast_form(seed: int) -> list[int]:
    from grader.lessons.mixed_precision.forms import precision_peak_case

    return _form(precision_peak_case(seed))


def _attention_form(seed: int) -> list[int]:
    from grader.lessons.attention.forms import long_rows_case

    return _form(long_rows_case(seed))


def _form(case: Any) -> list[int]:
    return [_feed_forward_bytes(case.make_model().config, case.make_batches()[0]["input_ids"].numel())]


def _feed_forward_bytes(config: Any, positions: int) -> int:
    """The wide numbers of one block, before and behind its nonlinearity, in 16 bits: no checkpoint saves these."""
    return 2 * HALF_BYTES * positions * int(config.intermediate_size)


def _checkpoint_peak(seed: int) -> list[int]:
    """The wide numbers of one block, before and behind its nonlinearity."""
    from grader.lessons.gradient_checkpointing.functions import function_peak_case

    case = function_peak_case(seed)
    return [2 * FLOAT32_BYTES * case.batch * 4 * case.width]


def _budget_peaks(seed: int) -> list[int]:
    """The same of the widest block."""
    from grader.lessons.gradient_checkpointing.budget import budget_cases

    return [2 * FLOAT32_BYTES * case.batch * max(case.hidden) for case in budget_cases(seed)]


def _update_peak(seed: int) -> list[int]:
    """The same of one row, in 16 bits."""
    from grader.lessons.mixed_precision.budget import peak_budget_case

    case = peak_budget_case(seed)
    return [2 * HALF_BYTES * case.time * 4 * case.width]


def _adam_backward_peak(seed: int) -> list[int]:
    """What the check's own forward keeps of each block: its wide numbers."""
    from grader.lessons.adamw.backward import backward_peak_case

    case = backward_peak_case(seed)
    widest = max(max(parameter.shape) for parameter in case.make_model().parameters())
    return [FLOAT32_BYTES * case.blocks * case.batch * widest]


def _lean_job(seed: int) -> list[int]:
    """The gradient of the largest parameter."""
    from grader.lessons.adam_8bit.job import job_peak_case

    return [max(parameter.nbytes for parameter in job_peak_case(seed).make_model().parameters())]


def _lean_step(seed: int) -> list[int]:
    """The gradient of the largest parameter, which a backward makes before it adds it to another."""
    from grader.lessons.compilation.lean_step import make_lean_case

    return [max(parameter.nbytes for parameter in make_lean_case(seed).make_model().parameters())]


def _lean_run(seed: int) -> list[int]:
    """All gradients: one step of the optimizer reads them together."""
    from grader.lessons.capstone.job import make_job_case

    return [sum(parameter.nbytes for parameter in make_job_case(seed).make_model().parameters())]


def _tight_job(seed: int) -> list[int]:
    """One matrix in float32, as it is read."""
    from grader.lessons.mixture_of_experts.job import tight_jobs

    return [FLOAT32_BYTES * case.width**2 for case in tight_jobs(seed)]


def _tiled_memory(seed: int) -> list[int]:
    """The output; the gradients of an earlier call may have been held already."""
    from grader.lessons.attention.tiled import memory_case

    return [memory_case(seed).input_bytes]


def _chunked_peak(seed: int) -> list[int]:
    """The gradient of the layer's weight."""
    from grader.lessons.compilation.chunks import chunk_peak_case

    case = chunk_peak_case(seed)
    return [FLOAT32_BYTES * case.vocabulary * case.width]


def _offloaded_peak(seed: int) -> list[int]:
    """The wide numbers of one block, which the backward of its nonlinearity reads."""
    from grader.lessons.offloading.saved import saved_peak_case

    case = saved_peak_case(seed)
    return [FLOAT32_BYTES * case.batch * 4 * case.width]


def _streamed_peak(seed: int) -> list[int]:
    """One moment of one chunk: chunks have a fixed size, and an update reads two."""
    from grader.lessons.offloading.states import streamed_peak_case

    return [FLOAT32_BYTES * streamed_peak_case(seed).chunk]


BOUNDS: dict[str, Callable[[int], list[int]]] = {
    "check_accumulation_accelerate": _accumulation_form,
    "check_accumulation_trainer": _accumulation_form,
    "check_adam_backward_peak": _adam_backward_peak,
    "check_attention_accelerate": _attention_form,
    "check_attention_trainer": _attention_form,
    "check_autocast_accelerate": _autocast_form,
    "check_autocast_trainer": _autocast_form,
    "check_budget_peak": _budget_peaks,
    "check_checkpoint_peak": _checkpoint_peak,
    "check_checkpointing_accelerate": _checkpointing_form,
    "check_checkpointing_trainer": _checkpointing_form,
    "check_chunked_peak": _chunked_peak,
    "check_lean_costs": _lean_run,
    "check_lean_job": _lean_job,
    "check_lean_step": _lean_step,
    "check_library_run": _lean_run,
    "check_offloaded_peak": _offloaded_peak,
    "check_repaired_trainer": _accumulation_form,
    "check_streamed_peak": _streamed_peak,
    "check_tight_job": _tight_job,
    "check_tiled_memory": _tiled_memory,
    "check_token_peak": _token_peak,
    "check_update_peak": _update_peak,
}

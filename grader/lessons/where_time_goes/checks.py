"""Checks of lesson 10: where time goes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from grader.lessons.where_time_goes.kernels import KERNELS, layer_cases
from grader.lessons.where_time_goes.steps import step_cases
from grader.lessons.where_time_goes.traces import trace_cases
from grader.lessons.where_time_goes.utilization import published_runs
from grader.observation import Observation
from grader.observing.contract import fail, require_number, require_word
from grader.observing.refused_meters import refuse_flop_counter
from grader.observing.running import make_check

STEP_PARAMETERS = ("layers", "width", "heads", "vocabulary", "batch", "time", "is_checkpointed")
LAYER_PARAMETERS = ("rows", "inner", "columns", "number_bytes", "flops_per_second", "bytes_per_second")
RUN_PARAMETERS = (
    *("parameters", "layers", "width", "time", "tokens_per_second"),
    *("devices", "datasheet_flops_per_second", "is_sparse", "is_checkpointed"),
)
SIDES = ("compute", "memory")
DIAGNOSES = (*SIDES, "launch", "data")


@make_check("step_flops", STEP_PARAMETERS)
def check_step_flops(step_flops: Callable[..., Any], seed: int) -> Observation:
    """Ask for the FLOPs of three steps."""
    with refuse_flop_counter("FLOPs that you compute from the shapes"):
        answers = [step_flops(*case.arguments) for case in step_cases(seed)]
    return Observation({"answers": [require_number(answer, "the FLOPs of a step") for answer in answers]})


@make_check("kernel_times", LAYER_PARAMETERS)
def check_kernel_times(kernel_times: Callable[..., Any], seed: int) -> Observation:
    """Ask for the times of the kernels of four layers."""
    return Observation({"answers": [_times(kernel_times(*case.arguments)) for case in layer_cases(seed)]})


@make_check("diagnose_trace", ("events", "flops_per_second", "bytes_per_second"))
def check_trace_diagnoses(diagnose_trace: Callable[..., Any], seed: int) -> Observation:
    """Ask for the diagnosis of twelve traces."""
    answers = [
        diagnose_trace(case.events(), case.flops_per_second, case.bytes_per_second) for case in trace_cases(seed)
    ]
    return Observation({"answers": [require_word(answer, DIAGNOSES) for answer in answers]})


@make_check("model_flops_utilization", RUN_PARAMETERS)
def check_utilization(model_flops_utilization: Callable[..., Any], seed: int) -> Observation:
    """Ask for the utilization of three runs."""
    answers = [model_flops_utilization(*run.arguments) for run in published_runs(seed)]
    return Observation({"answers": [require_number(answer, "a share of the peak rate") for answer in answers]})


def _times(value: Any) -> dict[str, list[Any]]:
    expected = f"a dict of {', '.join(KERNELS)}, each with a pair (seconds, side)"
    if not isinstance(value, Mapping) or set(value) != set(KERNELS):
        measured = f"keys {', '.join(map(str, value))}"[:80] if isinstance(value, Mapping) else type(value).__name__
        fail("kernels_missing", expected, measured, "You return other keys. Return all four, spelled as in the table.")
    times = {}
    for name in KERNELS:
        pair = value[name]
        if not isinstance(pair, tuple | list) or len(pair) != 2 or isinstance(pair[0], str):
            look_at = "You return no pair of seconds and side, in this order. Put (seconds, side) at each key."
            fail("no_pair", expected, f"{name}: {pair!r}"[:80], look_at)
        times[name] = [require_number(pair[0], f"the seconds of {name}"), require_word(pair[1], SIDES)]
    return times

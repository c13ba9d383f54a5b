"""Checks of lesson 25: the capstone."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from torch import Tensor

from grader.lessons.capstone.job import (
    Train,
    make_job_case,
    measure_job_peak,
    observe_costs,
    observe_result,
    result_cases,
)
from grader.lessons.capstone.parts import point_cases, run_cases, run_front, run_peak
from grader.observation import Observation
from grader.observing.contract import fail, require_number
from grader.observing.running import make_check

RUN = ("model", "batches", "learning_rate")


@make_check("peak_of_run", ("parts", "rows", "micro_batches", "is_checkpointed"))
def check_composed_peak(peak_of_run: Callable[..., Any], seed: int) -> Observation:
    """Ask for the peaks of nine runs."""
    answers = [require_number(run_peak(peak_of_run, case), "the peak") for case in run_cases(seed)]
    return Observation({"answers": answers})


@make_check("front", ("points",))
def check_front(front: Callable[..., Any], seed: int) -> Observation:
    """Ask for the fronts of four sets of points."""
    answers = []
    for points in point_cases(seed):
        names = run_front(front, points)
        is_collection = isinstance(names, Collection) and not isinstance(names, str)
        if not is_collection or not all(isinstance(name, str) for name in names):
            look_at = "Your answer has another form. Return a set of the names that `points` has."
            fail("no_names_returned", "names of points", f"{type(names).__name__}: {str(names)[:60]}", look_at)
        answers.append(sorted(set(names)))
    return Observation({"answers": answers})


@make_check("train_leanly", RUN)
def check_lean_result(train_leanly: Train, seed: int) -> Observation:
    """Record the gradients and the losses of two small runs."""
    return _observe_results(train_leanly, seed)


@make_check("train_leanly", RUN)
def check_lean_costs(train_leanly: Train, seed: int) -> Observation:
    """Measure the peak and count the FLOPs of a run."""
    return _observe_costs(train_leanly, seed)


@make_check("train_with_a_library", RUN)
def check_library_run(train_with_a_library: Train, seed: int) -> Observation:
    """Record the gradients and the losses of two small runs, then measure a larger one."""
    results, costs = _observe_results(train_with_a_library, seed), _observe_costs(train_with_a_library, seed)
    return Observation({**results.facts, **costs.facts}, results.tensors)


def _observe_results(train: Train, seed: int) -> Observation:
    runs: list[dict[str, Any]] = []
    tensors: dict[str, Tensor] = {}
    for index, case in enumerate(result_cases(seed)):
        calls: dict[str, Any] = {}
        facts, recorded = observe_result(train, case, calls)
        used = {"in_trainer": len(calls["trainer"]), "in_accelerate": len(calls["backward"])}
        runs.append({**facts, **used})
        tensors |= {f"{index}.{name}": tensor for name, tensor in recorded.items()}
    return Observation({"runs": runs}, tensors)


def _observe_costs(train: Train, seed: int) -> Observation:
    case = make_job_case(seed)
    return Observation({"costs": observe_costs(train, case), "claims": [measure_job_peak(train, case)]})

"""Checks of lesson 09: learning-rate schedules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

from grader.lessons.learning_rate_schedules.epochs import epoch_cases, run_epoch
from grader.lessons.learning_rate_schedules.noise import noise_cases
from grader.lessons.learning_rate_schedules.plans import plan_cases, run_plan
from grader.lessons.learning_rate_schedules.rates import SCHEDULES, run_cases
from grader.lessons.learning_rate_schedules.scheduled import run_scheduled, scheduled_cases
from grader.observation import Observation
from grader.observing.contract import fail, require_number
from grader.observing.running import make_check

EPOCH_PARAMETERS = ("model", "dataset", "rows", "k", "learning_rate", "warm_up", "max_norm")


@make_check("learning_rate_at", ("schedule", "update", "updates", "warm_up", "peak"))
def check_learning_rates(learning_rate_at: Callable[..., Any], seed: int) -> Observation:
    """Ask for the rate at every update of three runs, by every schedule."""
    answers = [
        {
            schedule: [
                require_number(
                    learning_rate_at(schedule, update, case.updates, case.warm_up, case.peak), "the learning rate"
                )
                for update in range(case.updates)
            ]
            for schedule in SCHEDULES
        }
        for case in run_cases(seed)
    ]
    return Observation({"answers": answers})


@make_check("train_scheduled", ("model", "loss_function", "optimizer", "scheduler", "micro_batches", "k", "max_norm"))
def check_scheduled_updates(train_scheduled: Callable[..., Any], seed: int) -> Observation:
    """Train two small models for one epoch."""
    runs = [run_scheduled(train_scheduled, case) for case in scheduled_cases(seed)]
    for run in runs:
        run["norms"] = _numbers(run["norms"], "a list with the norm of each update")
    return _observation(runs)


@make_check("make_wsd", ("optimizer", "warm_up", "stable", "decay", "done"))
def check_wsd_histories(make_wsd: Callable[..., Any], seed: int) -> Observation:
    """Run five plans, four of which are interrupted."""

    def make(*arguments: Any) -> Any:
        scheduler = make_wsd(*arguments)
        if not callable(getattr(scheduler, "step", None)):
            expected = "a scheduler: an object with the method step()"
            look_at = "You return nothing that can be stepped. Return the scheduler that your function makes."
            fail("no_scheduler_returned", expected, f"a value of type {type(scheduler).__name__}", look_at)
        return scheduler

    return Observation({"answers": [run_plan(make, case) for case in plan_cases(seed)]})


@make_check("schedule_with_accelerate", EPOCH_PARAMETERS)
def check_schedule_accelerate(schedule_with_accelerate: Callable[..., Any], seed: int) -> Observation:
    """Train a classifier for one epoch in a loop with Accelerate, twice."""
    return _observe_epochs(schedule_with_accelerate, seed)


@make_check("schedule_with_trainer", EPOCH_PARAMETERS)
def check_schedule_trainer(schedule_with_trainer: Callable[..., Any], seed: int) -> Observation:
    """Train a classifier for one epoch with the Trainer, twice."""
    return _observe_epochs(schedule_with_trainer, seed)


@make_check("gradient_noise_scale", ("gradients", "rows"))
def check_noise_scale(gradient_noise_scale: Callable[..., Any], seed: int) -> Observation:
    """Ask for the noise scale of three sets of gradients."""
    answers = [gradient_noise_scale(case.draw(), case.rows) for case in noise_cases(seed)]
    return Observation({"answers": [require_number(answer, "the noise scale in rows") for answer in answers]})


def _observe_epochs(train: Callable[..., Any], seed: int) -> Observation:
    runs = [run_epoch(train, case) for case in epoch_cases(seed)]
    return _observation([value for value, _ in runs], calls=[calls for _, calls in runs])


def _observation(runs: list[dict[str, Any]], **facts: Any) -> Observation:
    tensors: dict[str, Tensor] = {str(index): run.pop("weights") for index, run in enumerate(runs)}
    return Observation({"runs": runs, **facts}, tensors)


def _numbers(values: Any, what: str) -> list[int | float]:
    if not isinstance(values, list | tuple):
        fail("no_list_returned", what, f"a value of type {type(values).__name__}", "Return one number for each update.")
    return [require_number(value, what) for value in values]

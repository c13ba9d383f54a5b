"""Observes the answers of lesson 15, data parallel training."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor

from grader.lessons.data_parallel.accumulation import accumulation_cases
from grader.lessons.data_parallel.agreement import agreement_cases
from grader.lessons.data_parallel.calls import calls_cases
from grader.lessons.data_parallel.forms import parallel_forms_cases
from grader.lessons.data_parallel.hooks import hooks_cases
from grader.lessons.data_parallel.rank_failures import run_and_name
from grader.lessons.data_parallel.ranks import observe_accumulation, observe_agreement, observe_hooks
from grader.observation import Observation
from grader.observing.contract import fail, require_number
from grader.observing.refused_meters import refuse_rank_runs
from grader.observing.running import make_check

LOOP_PARAMETERS = ("model", "optimizer", "micro_batches", "k", "rank", "world_size")
FORM_PARAMETERS = ("model", "dataset", "batch", "k", "learning_rate")


@make_check("predict_all_reduces", ("parameters", "bucket_bytes", "k", "no_sync"))
def check_data_parallel_calls(predict_all_reduces: Callable[..., Any], seed: int) -> Observation:
    """Ask for the all-reduces of nine updates, and for their bytes."""
    predicted = []
    for case in calls_cases(seed):
        parameters = case.make_parameters()
        kept = [(id(parameter), parameter.requires_grad) for parameter in parameters]
        with refuse_rank_runs("all-reduces and bytes computed from the four arguments"):
            answer = predict_all_reduces(parameters, case.bucket_bytes, case.k, case.no_sync)
        if [(id(parameter), getattr(parameter, "requires_grad", None)) for parameter in parameters] != kept:
            look_at = "You change the list or its tensors. Look for reverse() or pop(): reversed() changes nothing."
            fail("parameters_changed", "the list of parameters as it was", "another list", look_at)
        if not isinstance(answer, tuple | list) or len(answer) != 2:
            found = "None" if answer is None else f"{type(answer).__name__}: {answer!r}"[:80]
            look_at = "You do not return a pair. Return two numbers: the all-reduces, and their bytes."
            fail("returned_none" if answer is None else "no_pair", "two numbers: all-reduces, bytes", found, look_at)
        calls = require_number(answer[0], "the all-reduces of one update")
        predicted.append([calls, require_number(answer[1], "the bytes of one update")])
    return Observation({"predicted": predicted})


@make_check("synchronise_gradients", ("model", "bucket_bytes"))
def check_synchronised_gradients(synchronise_gradients: Callable[..., Any], seed: int) -> Observation:
    """Train three small models on two, three and four ranks."""
    return _observe_hooks(synchronise_gradients, seed)


@make_check("synchronise_gradients", ("model", "bucket_bytes"))
def check_synchronised_overlap(synchronise_gradients: Callable[..., Any], seed: int) -> Observation:
    """Train the same models, for when which buckets are sent."""
    return _observe_hooks(synchronise_gradients, seed)


@make_check("train_accumulated", LOOP_PARAMETERS)
def check_data_parallel_updates(train_accumulated: Callable[..., Any], seed: int) -> Observation:
    """Train one epoch on two, three and four ranks."""
    return _observe_accumulation(train_accumulated, seed)


@make_check("train_accumulated", LOOP_PARAMETERS)
def check_data_parallel_traffic(train_accumulated: Callable[..., Any], seed: int) -> Observation:
    """Train the same epochs, for what the ranks send."""
    return _observe_accumulation(train_accumulated, seed)


@make_check("train_ranks_with_accelerate", FORM_PARAMETERS)
def check_data_parallel_accelerate(train_ranks_with_accelerate: Callable[..., Any], seed: int) -> Observation:
    """Train with Accelerate on two and on three ranks."""
    return _observe_form(train_ranks_with_accelerate, seed, "train_ranks_with_accelerate")


@make_check("train_ranks_with_trainer", FORM_PARAMETERS)
def check_data_parallel_trainer(train_ranks_with_trainer: Callable[..., Any], seed: int) -> Observation:
    """Train with the Trainer on two and on three ranks."""
    return _observe_form(train_ranks_with_trainer, seed, "train_ranks_with_trainer")


@make_check("ranks_agree", ("model",))
def check_data_parallel_agreement(ranks_agree: Callable[..., Any], seed: int) -> Observation:
    """Ask for the agreement of models that are equal or differ in one way, on two and on three ranks."""
    reports = [
        run_and_name(observe_agreement, world_size, "ranks_agree", answer=ranks_agree, seed=seed).returned
        for world_size in sorted({case.world_size for case in agreement_cases(seed)})
    ]
    return _observation(reports)


def _observe_hooks(answer: Callable[..., Any], seed: int) -> Observation:
    reports = []
    for number, case in enumerate(hooks_cases(seed)):
        arguments = {"answer": answer, "seed": seed, "number": number}
        reports.append(run_and_name(observe_hooks, case.world_size, "synchronise_gradients", **arguments).returned)
    return _observation(reports)


def _observe_accumulation(answer: Callable[..., Any], seed: int) -> Observation:
    reports = []
    for number, case in enumerate(accumulation_cases(seed)):
        arguments = {"answer": answer, "seed": seed, "number": number}
        reports.append(run_and_name(observe_accumulation, case.world_size, "train_accumulated", **arguments).returned)
    return _observation(reports)


def _observe_form(answer: Callable[..., Any], seed: int, exercise: str) -> Observation:
    from grader.lessons.data_parallel.form_ranks import observe_form

    reports = []
    for number, case in enumerate(parallel_forms_cases(seed)):
        arguments = {"answer": answer, "seed": seed, "number": number}
        reports.append(run_and_name(observe_form, case.world_size, exercise, **arguments).returned)
    return _observation(reports)


def _observation(reports: Sequence[Sequence[dict[str, Any]]]) -> Observation:
    """Put together what each rank reported of each setting: tensors are named "setting.rank.name"."""
    tensors: dict[str, Tensor] = {}
    for number, ranks in enumerate(reports):
        for rank, report in enumerate(ranks):
            tensors |= {f"{number}.{rank}.{name}": value for name, value in report["tensors"].items()}
    return Observation({"settings": [[report["facts"] for report in ranks] for ranks in reports]}, tensors)

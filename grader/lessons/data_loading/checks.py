"""Checks of lesson 11: data loading."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor

from grader.lessons.data_loading.buckets import bucket_cases, run_buckets
from grader.lessons.data_loading.forms import loading_cases
from grader.lessons.data_loading.loader_logs import log_cases
from grader.lessons.data_loading.packing import packing_cases, run_packing
from grader.lessons.data_loading.padding import METHODS, padding_cases
from grader.observation import Observation
from grader.observing.contract import fail, require_number
from grader.observing.rank_runs import run_on_ranks
from grader.observing.running import make_check

FORM_PARAMETERS = ("model", "dataset", "batches", "collate", "learning_rate")


@make_check("padding_tokens", ("lengths", "rows", "time"))
def check_padding_tokens(padding_tokens: Callable[..., Any], seed: int) -> Observation:
    """Ask for the padding of five data sets."""
    answers = []
    for case in padding_cases(seed):
        answer = padding_tokens(list(case.lengths), case.rows, case.time)
        expected = f"a dict with the keys {', '.join(METHODS)}"
        if not isinstance(answer, Mapping) or set(answer) != set(METHODS):
            found = "None" if answer is None else f"{type(answer).__name__}: {answer!r}"[:80]
            look_at = "You do not return the dict that the docstring names. Compare its keys."
            fail("returned_none" if answer is None else "no_such_dict", expected, found, look_at)
        answers.append({name: require_number(answer[name], f"padding of {name} batches") for name in METHODS})
    return Observation({"answers": answers})


@make_check("bucket_batches", ("lengths", "rows", "pool", "seed", "epoch"))
def check_bucket_batches(bucket_batches: Callable[..., Any], seed: int) -> Observation:
    """Ask for the batches of three data sets, for two seeds and several epochs."""
    return Observation({"runs": [run_buckets(bucket_batches, case) for case in bucket_cases(seed)]})


@make_check("pack_rows", ("rows", "time"))
def check_packed_rows(pack_rows: Callable[..., Any], seed: int) -> Observation:
    """Pack three sets of texts, and run a model on each sequence."""
    tensors: dict[str, Tensor] = {}
    for number, case in enumerate(packing_cases(seed)):
        tensors |= {f"{number}.{name}": value for name, value in run_packing(pack_rows, case).items()}
    return Observation({}, tensors)


@make_check("train_batches_with_accelerate", FORM_PARAMETERS)
def check_batches_accelerate(train_batches_with_accelerate: Callable[..., Any], seed: int) -> Observation:
    """Train with Accelerate on two and on three ranks."""
    return _observe_form(train_batches_with_accelerate, seed, "train_batches_with_accelerate")


@make_check("train_batches_with_trainer", FORM_PARAMETERS)
def check_batches_trainer(train_batches_with_trainer: Callable[..., Any], seed: int) -> Observation:
    """Train with the Trainer on two and on three ranks."""
    return _observe_form(train_batches_with_trainer, seed, "train_batches_with_trainer")


@make_check("workers_needed", ("log",))
def check_workers_needed(workers_needed: Callable[..., Any], seed: int) -> Observation:
    """Ask how many workers eight recorded runs need."""
    answers = [require_number(workers_needed(case.log()), "the number of workers") for case in log_cases(seed)]
    for answer in answers:
        if isinstance(answer, float):
            look_at = "You return a float, and DataLoader accepts whole numbers of workers only. Return an int."
            fail("no_whole_number", "an int", f"{answer!r}", look_at)
    return Observation({"answers": answers})


def _observe_form(answer: Callable[..., Any], seed: int, exercise: str) -> Observation:
    from grader.lessons.data_loading.form_ranks import observe_loading

    settings: list[list[dict[str, Any]]] = []
    tensors: dict[str, Tensor] = {}
    for number, case in enumerate(loading_cases(seed)):
        arguments: dict[str, Any] = {"answer": answer, "seed": seed, "number": number}
        reports = run_on_ranks(observe_loading, case.world_size, exercise, **arguments).returned
        settings.append([report["facts"] for report in reports])
        for rank, report in enumerate(reports):
            tensors |= {f"{number}.{rank}.{name}": value for name, value in report["tensors"].items()}
    return Observation({"settings": settings}, tensors)

"""Observes the answers of lesson 18, sharding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor

from grader.lessons.sharding.forms import sharded_forms_cases
from grader.lessons.sharding.jobs import sharding_jobs
from grader.lessons.sharding.ranks import observe_step, observe_units
from grader.lessons.sharding.steps import step_cases
from grader.lessons.sharding.units import unit_cases
from grader.observation import Observation
from grader.observing.contract import fail, require_number
from grader.observing.rank_runs import failed_place, run_on_ranks
from grader.observing.refused_meters import refuse_rank_runs
from grader.observing.running import make_check
from grader.ranks.run import RankRun
from grader.verdict import CheckFailed, NotSolvedYet

STEP_PARAMETERS = ("model", "learning_rate", "epsilon")
UNIT_PARAMETERS = ("run", "shard", "total", "inputs")
FORM_PARAMETERS = ("model", "dataset", "batch", "reshard", "learning_rate")
# Part of an exception's message, the code of the misconception behind it, and its diagnosis.
KNOWN_ERRORS = (
    (
        "outputShape[0] * worldSize",
        "vector_not_padded",
        "You use shares that do not make up the whole vector. All ranks need shares of one length: round up, and pad "
        "the vector.",
    ),
    (
        "does not require grad and does not have a grad_fn",
        "backward_without_graph",
        "You run the unit in backward without a graph. backward of a Function is under no_grad: use enable_grad.",
    ),
    (
        "value was None when it should not be",
        "other_classes_wrapped",
        "You do not name BertLayer alone. If no class is named, the model's own list is taken, and BertEmbeddings is "
        "in it: that unit fails here. The Trainer's key is transformer_layer_cls_to_wrap.",
    ),
    (
        "does not support containers",
        "wrapped_by_size",
        "You choose units by size. Wrap by class, with transformer_based_wrap.",
    ),
    ("not supported with FSDP1", "fsdp_version_1", "You ask for FSDP1. Set fsdp_version=2."),
    ("KeyError: 'TRUE'", "fsdp_version_1", "You ask for FSDP1. Leave its version out: FSDP2 is the default."),
    (
        "must be passed together",
        "optimizer_not_prepared",
        "You prepare the model alone. Prepare the optimizer with it.",
    ),
)


@make_check("predict_sharding", ("parameters", "ranks", "stage", "state_bytes", "k"))
def check_sharding_bytes(predict_sharding: Callable[..., Any], seed: int) -> Observation:
    """Ask for the bytes that a rank holds and sends, for eleven jobs."""
    predicted = []
    for job in sharding_jobs(seed):
        with refuse_rank_runs("bytes computed from the five arguments"):
            answer = predict_sharding(job.parameters, job.ranks, job.stage, job.state_bytes, job.k)
        if not isinstance(answer, tuple | list) or len(answer) != 2:
            found = "None" if answer is None else f"{type(answer).__name__}: {answer!r}"[:80]
            look_at = "You do not return a pair. Return two numbers: bytes held, then bytes sent."
            fail("returned_none" if answer is None else "no_pair", "two numbers: held, sent", found, look_at)
        predicted.append([require_number(answer[0], "bytes held"), require_number(answer[1], "bytes sent")])
    return Observation({"predicted": predicted})


@make_check("make_sharded_step", STEP_PARAMETERS)
def check_sharded_weights(make_sharded_step: Callable[..., Any], seed: int) -> Observation:
    """Train three small models on two, three and four ranks."""
    return _observe_steps(make_sharded_step, seed)


@make_check("make_sharded_step", STEP_PARAMETERS)
def check_sharded_state(make_sharded_step: Callable[..., Any], seed: int) -> Observation:
    """Train the same models, for the optimizer state of each rank and for what it sends."""
    return _observe_steps(make_sharded_step, seed)


@make_check("run_sharded", UNIT_PARAMETERS)
def check_sharded_gradients(run_sharded: Callable[..., Any], seed: int) -> Observation:
    """Run two chains of units forward and backward, on two and on three ranks."""
    return _observe_units(run_sharded, seed, with_peak=False)


@make_check("run_sharded", UNIT_PARAMETERS)
def check_sharded_peak(run_sharded: Callable[..., Any], seed: int) -> Observation:
    """Run the same chains, for the peak of each rank and for what it sends."""
    return _observe_units(run_sharded, seed, with_peak=True)


@make_check("train_sharded_with_accelerate", FORM_PARAMETERS)
def check_sharded_accelerate(train_sharded_with_accelerate: Callable[..., Any], seed: int) -> Observation:
    """Train with Accelerate on two and on three ranks."""
    return _observe_form(train_sharded_with_accelerate, seed, "train_sharded_with_accelerate")


@make_check("train_sharded_with_trainer", FORM_PARAMETERS)
def check_sharded_trainer(train_sharded_with_trainer: Callable[..., Any], seed: int) -> Observation:
    """Train with the Trainer on two and on three ranks."""
    return _observe_form(train_sharded_with_trainer, seed, "train_sharded_with_trainer")


def _observe_steps(answer: Callable[..., Any], seed: int) -> Observation:
    reports = []
    for number, case in enumerate(step_cases(seed)):
        arguments: dict[str, Any] = {"answer": answer, "seed": seed, "number": number}
        reports.append(_run(observe_step, case.world_size, "make_sharded_step", **arguments).returned)
    return _observation(reports)


def _observe_units(answer: Callable[..., Any], seed: int, with_peak: bool) -> Observation:
    reports = []
    for number, case in enumerate(unit_cases(seed)):
        arguments: dict[str, Any] = {"answer": answer, "seed": seed, "number": number, "with_peak": with_peak}
        reports.append(_run(observe_units, case.world_size, "run_sharded", **arguments).returned)
    return _observation(reports)


def _observe_form(answer: Callable[..., Any], seed: int, exercise: str) -> Observation:
    from grader.lessons.sharding.form_ranks import observe_form

    reports = []
    for number, case in enumerate(sharded_forms_cases(seed)):
        arguments: dict[str, Any] = {"answer": answer, "seed": seed, "number": number}
        reports.append(_run(observe_form, case.world_size, exercise, **arguments).returned)
    return _observation(reports)


def _run(observe: Callable[..., Any], world_size: int, exercise: str, **arguments: Any) -> RankRun:
    """Run on ranks, and name what an exception of a library comes from."""
    try:
        return run_on_ranks(observe, world_size, exercise, **arguments)
    except OSError as error:
        look_at = f"You define a class that the ranks cannot find. Define it inside {exercise}."
        fail("class_not_for_ranks", f"{exercise} to be importable in other processes", str(error)[:200], look_at)
    except NotSolvedYet:
        raise
    except CheckFailed as failure:
        for words, code, diagnosis in KNOWN_ERRORS:
            if words in failure.measured:
                fail(code, failure.expected, failure.measured, f"{diagnosis} ({failed_place(failure.look_at)})")
        raise


def _observation(reports: Sequence[Sequence[dict[str, Any]]]) -> Observation:
    """Put together what each rank reported of each setting: tensors are named "setting.rank.name"."""
    tensors: dict[str, Tensor] = {}
    for number, ranks in enumerate(reports):
        for rank, report in enumerate(ranks):
            tensors |= {f"{number}.{rank}.{name}": value for name, value in report["tensors"].items()}
    return Observation({"settings": [[report["facts"] for report in ranks] for ranks in reports]}, tensors)

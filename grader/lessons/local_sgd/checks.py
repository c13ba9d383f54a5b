"""Observes the answers of lesson 16, local SGD."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor

from grader.lessons.local_sgd.averaging import averaging_cases
from grader.lessons.local_sgd.epochs import accelerated_cases, epoch_cases
from grader.lessons.local_sgd.methods import method_cases
from grader.lessons.local_sgd.ranks import observe_averaging, observe_epochs, observe_methods
from grader.lessons.local_sgd.synchronisations import synchronisations_cases
from grader.observation import Observation
from grader.observing.contract import fail, require_number
from grader.observing.rank_runs import failed_place, run_on_ranks
from grader.observing.refused_meters import refuse_rank_runs
from grader.observing.running import make_check
from grader.verdict import CheckFailed

LOOP_PARAMETERS = ("model", "optimizer", "micro_batches", "k", "every", "average", "rank", "world_size")
FORM_PARAMETERS = ("model", "dataset", "rows", "k", "every", "learning_rate")
# Part of an exception's message; the code of the misconception, and its diagnosis.
KNOWN_ERRORS = (
    (
        "a leaf Variable that requires grad",
        "averaged_outside_no_grad",
        "You write into a parameter while autograd records. Do it under torch.no_grad().",
    ),
    (
        "can't be cast to the desired output type",
        "integer_buffer_divided",
        "You divide an integer buffer, which cannot hold a mean. Average floating-point buffers only.",
    ),
    (
        "Expected parameter `tensor` of type torch.Tensor",
        "no_tensor_averaged",
        "You give a collective something that is no tensor. .grad may be None: average the parameters themselves.",
    ),
    (
        "has no attribute 'no_sync'",
        "model_not_prepared",
        "You give LocalSGD a model that is not prepared. It needs the one that accelerator.prepare returns.",
    ),
)
# How gloo ends a process whose peer sends what belongs to another collective.
MISMATCH = ("distributed collective mismatch", "gloo::EnforceNotMet")
WAITS = "You let some rank wait for the others. Every rank has to call average and collectives, equally often."
DISAGREES = (
    "You call average or collectives more often on one rank than on another, or in another order. Look at how many "
    "updates each rank makes."
)


@make_check("predict_synchronisations", ("micro_batches", "k", "every", "optimizer"))
def check_local_sgd_synchronisations(predict_synchronisations: Callable[..., Any], seed: int) -> Observation:
    """Ask for the synchronisations of fifteen runs, and whether they equal data parallel training."""
    predicted = []
    for case in synchronisations_cases(seed):
        with refuse_rank_runs("both answers derived from the four arguments"):
            answer = predict_synchronisations(case.micro_batches, case.k, case.every, case.optimizer)
        if not isinstance(answer, tuple | list) or len(answer) != 2:
            found = "None" if answer is None else f"{type(answer).__name__}: {answer!r}"[:80]
            look_at = "You do not return a pair. Return the number of synchronisations, and True or False."
            code = "returned_none" if answer is None else "no_pair"
            fail(code, "a number of synchronisations, and True or False", found, look_at)
        is_equal = plain_truth(answer[1])
        if not isinstance(is_equal, bool):
            found = f"{type(answer[1]).__name__}: {answer[1]!r}"[:80]
            look_at = "You return something other than True or False as the second part. Look at the order of the two."
            fail("no_truth_value", "True or False as the second part", found, look_at)
        predicted.append([require_number(answer[0], "the synchronisations of a run"), is_equal])
    return Observation({"predicted": predicted})


@make_check("average_parameters", ("model",))
def check_averaged_parameters(average_parameters: Callable[..., Any], seed: int) -> Observation:
    """Average four models on two and three ranks."""
    return _observe_all(observe_averaging, average_parameters, seed, averaging_cases(seed), "average_parameters")


@make_check("average_parameters", ("model",))
def check_averaged_bytes(average_parameters: Callable[..., Any], seed: int) -> Observation:
    """Average the same models, for what the ranks send."""
    return _observe_all(observe_averaging, average_parameters, seed, averaging_cases(seed), "average_parameters")


@make_check("train_local_sgd", LOOP_PARAMETERS)
def check_local_sgd_updates(train_local_sgd: Callable[..., Any], seed: int) -> Observation:
    """Train five epochs on two and three ranks."""
    return _observe_all(observe_epochs, train_local_sgd, seed, epoch_cases(seed), "train_local_sgd")


@make_check("train_local_sgd", LOOP_PARAMETERS)
def check_local_sgd_traffic(train_local_sgd: Callable[..., Any], seed: int) -> Observation:
    """Train the same epochs, for what the ranks send."""
    return _observe_all(observe_epochs, train_local_sgd, seed, epoch_cases(seed), "train_local_sgd")


@make_check("train_local_sgd_with_accelerate", FORM_PARAMETERS)
def check_local_sgd_accelerate(train_local_sgd_with_accelerate: Callable[..., Any], seed: int) -> Observation:
    """Train two epochs with Accelerate's LocalSGD, on two and on three ranks."""
    from grader.lessons.local_sgd.form_ranks import observe_accelerated

    reports = []
    for number, case in enumerate(accelerated_cases(seed)):
        arguments: dict[str, Any] = {"answer": train_local_sgd_with_accelerate, "seed": seed, "number": number}
        try:
            run = run_on_ranks(observe_accelerated, case.world_size, "train_local_sgd_with_accelerate", **arguments)
        except CheckFailed as failure:
            _explain_known(failure)
            raise
        reports.append(run.returned)
    return _observation(reports)


@make_check("what_is_averaged", ("train", "model", "optimizer"))
def check_local_sgd_method(what_is_averaged: Callable[..., Any], seed: int) -> Observation:
    """Ask for the method of sixteen trainings, on two and three ranks."""
    return _observe_all(observe_methods, what_is_averaged, seed, method_cases(seed), "what_is_averaged")


def _observe_all(
    observe: Callable[..., Any], answer: Callable[..., Any], seed: int, cases: Sequence[Any], exercise: str
) -> Observation:
    """Launch the ranks once for each number of ranks; each rank returns one report for each setting of that number."""
    reports: list[list[dict[str, Any]]] = []
    for world_size in sorted({case.world_size for case in cases}):
        try:
            run = run_on_ranks(observe, world_size, exercise, answer=answer, seed=seed)
        except CheckFailed as failure:
            _explain_known(failure)
            raise
        reports += [list(ranks) for ranks in zip(*run.returned, strict=True)]
    return _observation(reports)


def plain_truth(value: Any) -> Any:
    """Return a truth value of NumPy or of a tensor as Python's own, and anything else as it is."""
    is_single = getattr(value, "shape", None) == () or (isinstance(value, Tensor) and value.numel() == 1)
    return value.item() if is_single else value


def _explain_known(failure: CheckFailed) -> None:
    if failure.code == "ranks_without_end":
        fail(failure.code, failure.expected, failure.measured, _at(WAITS, failure))
    if failure.code == "rank_died" and any(words in failure.measured for words in MISMATCH):
        measured = f"{failure.measured.partition(':')[0]}: stopped by the backend, for data of another collective"
        fail("collectives_disagree", failure.expected, measured, DISAGREES)
    for words, code, diagnosis in KNOWN_ERRORS:
        if words in failure.measured:
            fail(code, failure.expected, failure.measured, _at(diagnosis, failure))


def _at(diagnosis: str, failure: CheckFailed) -> str:
    """Return a diagnosis with the line that failed."""
    return f"{diagnosis} Look at {failed_place(failure.look_at)}."


def _observation(reports: Sequence[Sequence[dict[str, Any]]]) -> Observation:
    """Put together what each rank reported of each setting: tensors are named "setting.rank.name"."""
    tensors: dict[str, Tensor] = {}
    for number, ranks in enumerate(reports):
        for rank, report in enumerate(ranks):
            tensors |= {f"{number}.{rank}.{name}": value for name, value in report["tensors"].items()}
    return Observation({"settings": [[report["facts"] for report in ranks] for ranks in reports]}, tensors)

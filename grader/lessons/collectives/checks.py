"""Observations of lesson 14: collectives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor

from grader.lessons.collectives.costs import cost_cases
from grader.lessons.collectives.hangs import hang_cases
from grader.lessons.collectives.ranks import SENT_NOTHING, reduce_cases, refuse_ranks
from grader.lessons.collectives.reductions import (
    ReductionCase,
    butterfly_cases,
    group_by_ranks,
    ring_cases,
    shard_cases,
    unsupported_ranks,
)
from grader.observation import Observation
from grader.observing.arguments import tell_arguments
from grader.observing.contract import fail, require_number, require_tensor
from grader.observing.rank_runs import failed_place, run_on_ranks
from grader.observing.refused_meters import refuse_rank_runs
from grader.observing.running import make_check
from grader.ranks.run import RankRun
from grader.verdict import CheckFailed, NotSolvedYet

COLLECTIVE = ("tensor", "rank", "world_size", "send", "receive")
CAUSES = ("skipped", "extra", "swapped", "other size", "other operation")
PREDICTION = ("algorithm", "world_size", "tensor_bytes")
NEVER_CAME = ("message_never_came", "raised_connection_error")
STOPS = (  # what ends a run: code, part of the error's text, diagnosis
    (
        "received_before_sent",
        SENT_NOTHING,
        "You receive on a rank that has sent nothing yet. Where each rank does so, all wait: look at who sends first.",
    ),
    (
        "names_itself",
        "names itself",
        "You let a rank send to itself, or receive from itself. Look at how the other rank's number is computed.",
    ),
    (
        "names_no_rank",
        "names rank",
        "You name a rank that does not exist. Look at how the other rank's number is computed.",
    ),
)
UNANSWERED = (
    "You wait for a rank that sends you nothing more. Partners swap: both take rank ^ distance, and each sends once "
    "and receives once."
)


@make_check("predict_all_reduce", PREDICTION)
def check_all_reduce_costs(predict_all_reduce: Callable[..., Any], seed: int) -> Observation:
    """Ask for rounds and bytes of all-reduces that no rank runs."""
    predicted = []
    for case in cost_cases(seed):
        arguments = {name: getattr(case, name) for name in PREDICTION}
        instead = "rounds and bytes computed from the three arguments"
        with tell_arguments("predict_all_reduce", **arguments), refuse_rank_runs(instead):
            answer = predict_all_reduce(*arguments.values())
        if not isinstance(answer, tuple | list) or len(answer) != 2:
            found = "None" if answer is None else f"{type(answer).__name__}: {answer!r}"[:80]
            code = "returned_none" if answer is None else "no_pair"
            fail(
                code,
                "two numbers: rounds, bytes",
                found,
                "You return no pair of numbers. Return the rounds, then the bytes.",
            )
        predicted.append([require_number(answer[0], "the rounds"), require_number(answer[1], "the bytes")])
    return Observation({"predicted": predicted})


@make_check("all_reduce_butterfly", COLLECTIVE)
def check_butterfly_sums(all_reduce_butterfly: Callable[..., Any], seed: int) -> Observation:
    """Add up tensors on 8, 4 and 2 ranks."""
    return _observe(all_reduce_butterfly, "all_reduce_butterfly", butterfly_cases(seed))


@make_check("all_reduce_butterfly", COLLECTIVE)
def check_butterfly_rounds(all_reduce_butterfly: Callable[..., Any], seed: int) -> Observation:
    """Add up the same tensors, and ask for a number of ranks that has to be refused."""
    observation = _observe(all_reduce_butterfly, "all_reduce_butterfly", butterfly_cases(seed))
    case = unsupported_ranks(seed)
    own = [{"tensor": tensor} for tensor in case.inputs()]
    try:
        run = run_on_ranks(refuse_ranks, case.world_size, "all_reduce_butterfly", own, collective=all_reduce_butterfly)
    except CheckFailed as failed:
        refused = [{"error": failed.measured, "messages": 0, "named": None}]
    else:
        refused = run.returned
    return Observation({**observation.facts, "refused": refused}, observation.tensors)


@make_check("all_reduce_ring", COLLECTIVE)
def check_ring_sums(all_reduce_ring: Callable[..., Any], seed: int) -> Observation:
    """Add up tensors on 4 ranks, on an odd number and on one."""
    return _observe(all_reduce_ring, "all_reduce_ring", ring_cases(seed))


@make_check("all_reduce_ring", COLLECTIVE)
def check_ring_traffic(all_reduce_ring: Callable[..., Any], seed: int) -> Observation:
    """Add up the same tensors; what counts is what was sent."""
    return _observe(all_reduce_ring, "all_reduce_ring", ring_cases(seed))


@make_check("reduce_scatter_ring", COLLECTIVE)
def check_ring_shards(reduce_scatter_ring: Callable[..., Any], seed: int) -> Observation:
    """Have each rank get one chunk of the sum."""
    return _observe(reduce_scatter_ring, "reduce_scatter_ring", shard_cases(seed), is_shape_free=True)


@make_check("diagnose_hang", ("records",))
def check_hang_diagnoses(diagnose_hang: Callable[..., Any], seed: int) -> Observation:
    """Ask for the rank and the cause of ten recorded hangs."""
    said = []
    for case in hang_cases(seed):
        answer = diagnose_hang([list(record) for record in case.records])
        if not isinstance(answer, tuple | list) or len(answer) != 2:
            found = "None" if answer is None else f"{type(answer).__name__}: {answer!r}"[:80]
            look_at = "You return no pair. Return the rank, then the cause."
            fail("returned_none" if answer is None else "no_pair", "a rank and a cause", found, look_at)
        cause = str(answer[1])
        if cause not in CAUSES:
            look_at = f"You return another cause than the five of the contract: {', '.join(CAUSES)}."
            fail("other_word", "one of the five causes", repr(cause)[:60], look_at)
        said.append([int(require_number(answer[0], "the rank")), cause])
    return Observation({"said": said})


def _observe(
    collective: Callable[..., Any], exercise: str, cases: Sequence[ReductionCase], *, is_shape_free: bool = False
) -> Observation:
    """Run a collective on all cases, the first of them in a launch of its own.

    A later launch that fails ends the observation: what went before it is judged first, and often says why.
    """
    settings: list[Any] = []
    tensors: dict[str, Tensor] = {}
    for world_size, group in [(cases[0].world_size, [cases[0]]), *group_by_ranks(cases[1:])]:
        try:
            run = _run(collective, exercise, world_size, group)
            for number, case in enumerate(group):
                ranks = [returned[number] for returned in run.returned]
                for rank, facts in enumerate(ranks):
                    result = _require_result(facts, case, rank, is_shape_free)
                    tensors[f"{len(settings)}.{rank}"] = result
                settings.append([{name: facts[name] for name in facts if name != "returned"} for facts in ranks])
        except NotSolvedYet:
            raise
        except CheckFailed as failed:
            if not settings:
                raise
            sizes = " or ".join(dict.fromkeys(str(case.elements) for case in group))
            measured = f"{failed.measured}, on {world_size} rank{'s' if world_size > 1 else ''} with {sizes} elements"
            kept = {name: value for name, value in tensors.items() if int(name.partition(".")[0]) < len(settings)}
            stop = [failed.code, failed.expected, measured, failed.look_at]
            return Observation({"settings": settings, "stopped": stop}, kept)
    return Observation({"settings": settings}, tensors)


def _run(collective: Callable[..., Any], exercise: str, world_size: int, cases: Sequence[ReductionCase]) -> RankRun:
    try:
        own = [{"tensors": list(of_rank)} for of_rank in zip(*(case.inputs() for case in cases), strict=True)]
        return run_on_ranks(reduce_cases, world_size, exercise, own, collective=collective)
    except CheckFailed as failed:
        for code, shown_by, diagnosis in STOPS:
            if failed.code in ("raised_value_error", *NEVER_CAME) and shown_by in failed.measured:
                fail(code, failed.expected, failed.measured, f"{diagnosis} ({failed_place(failed.look_at)})")
        if exercise == "all_reduce_butterfly" and failed.code in NEVER_CAME:
            look_at = f"{UNANSWERED} ({failed_place(failed.look_at)})"
            fail("partner_waits_for_another", failed.expected, failed.measured, look_at)
        raise


def _require_result(facts: dict[str, Any], case: ReductionCase, rank: int, is_shape_free: bool) -> Tensor:
    what = f"the result of rank {rank} of {case.world_size}"
    value = facts["returned"]
    if value is None and facts["type"] != "NoneType":
        fail("wrong_type", f"{what}: a torch.Tensor", str(facts["type"]), "You return no tensor. Return the result.")
    shape = tuple(value.shape) if is_shape_free and value is not None else case.shape
    return require_tensor(value, what, shape=shape, like=case.inputs())

"""Verdicts on what the ranks send: each trained gradient once for each update, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from grader.judging.forms import count
from grader.judging.lessons.data_parallel.hook_causes import explain_by_hooks, explain_silence
from grader.judging.lessons.data_parallel.hooks import judge_library
from grader.judging.lessons.data_parallel.reports import Facts, all_reduces, bytes_of, facts_of
from grader.lessons.data_parallel.accumulation import AccumulationCase, accumulation_cases
from grader.lessons.data_parallel.hooks import HooksCase, hooks_cases
from grader.observation import Observation
from grader.units import format_bytes
from grader.verdict import PASSED, Verdict

LOG_BYTES = 8  # one number of a micro-batch, as its loss in float64, may be all-reduced besides


def judge_synchronised_bytes(observation: Observation, seed: int) -> Verdict:
    """Judge the bytes of the collectives of every backward on every rank."""
    total = 0
    for number, case in enumerate(hooks_cases(seed)):
        facts = facts_of(observation, number, case.world_size)
        verdict = judge_library(facts)
        if verdict:
            return verdict
        for rank, fact in enumerate(facts):
            for update, calls in enumerate(fact["calls"]):
                verdict = _judge_backward(case, fact, update, f"rank {rank} of {case.world_size}")
                if verdict:
                    return verdict
                total += bytes_of(calls)
    measured = f"{format_bytes(total)} in all backwards of all ranks: each trained gradient once"
    return Verdict(PASSED, "each trained gradient all-reduced once for each backward", measured)


def trained_bytes(case: HooksCase) -> int:
    """Return the bytes of all trained parameters, a tied one once."""
    return sum(parameter.nbytes for parameter in case.make_model(0).parameters() if parameter.requires_grad)


def _judge_backward(case: HooksCase, fact: Facts, update: int, place: str) -> Verdict | None:
    calls: Sequence[Sequence[Any]] = fact["calls"][update]
    wanted, reduced = trained_bytes(case), sum(all_reduces(calls))
    others = bytes_of(calls) - reduced
    if reduced == wanted and not others:
        return None
    expected = f"in backward {update + 1} on {place}, all-reduces of {wanted:,} bytes: each trained gradient once"
    measured = f"all-reduces of {reduced:,} bytes" + (f", and {others:,} bytes in other collectives" if others else "")
    if not calls:
        look_at = "who calls all_reduce while backward runs: is the hook registered, and on every rank?"
        code, look_at = explain_silence(fact) or ("nothing_reduced", look_at)
        return Verdict(code, expected, "no collective", look_at)
    if others:
        names = ", ".join(sorted({str(name) for name, _ in calls} - {"all_reduce"}))
        look_at = f"{names} in a backward: one all-reduce for each gradient is enough"
        return Verdict("other_collectives", expected, measured, look_at)
    code, look_at = _explain_bytes(case, fact, update)
    return Verdict(code, expected, measured, look_at)


def _explain_bytes(case: HooksCase, fact: Facts, update: int) -> tuple[str, str]:
    """Explain all-reduces in one backward that have not the bytes of the trained gradients."""
    sizes = all_reduces(fact["calls"][update])
    wanted, reduced, model = trained_bytes(case), sum(sizes), case.make_model(0)
    frozen = sum(parameter.nbytes for parameter in model.parameters() if not parameter.requires_grad)
    tied = dict(model.named_parameters())["2.weight"].nbytes if case.is_tied else 0
    for excess, code, look_at in (
        (
            tied,
            "tied_gradient_reduced_twice",
            "the tied weight is one parameter: under how many names does it get a hook?",
        ),
        (frozen, "frozen_parameters_reduced", "a frozen parameter has no gradient: what is all-reduced for it?"),
        (tied + frozen, "tied_twice_and_frozen", "parameters by their names: which of them are the same, or frozen?"),
    ):
        if excess and reduced - wanted == excess:
            return code, look_at
    trained = sorted(parameter.nbytes for parameter in model.parameters() if parameter.requires_grad)
    if reduced == 2 * wanted and (len(sizes) == 1 or sorted(sizes) == [2 * nbytes for nbytes in trained]):
        return "gradients_in_64_bits", "the number format of what is all-reduced: the gradients are in 32 bits"
    if reduced and reduced % wanted == 0:
        look_at = "one all-reduce for each gradient: how many hooks has each parameter, and what does each do?"
        return "reduced_several_times", look_at
    if 2 * reduced == wanted:
        return "gradients_in_16_bits", "the number format: the gradients are in 32 bits"
    if reduced > wanted and len(sizes) > len(trained):
        look_at = "a hook is handed one parameter: of how many does yours all-reduce the gradient?"
        return "hook_reduces_others", look_at
    code = "some_gradients_not_reduced" if reduced < wanted else "bytes_in_excess"
    look_at = "which parameters get a hook, and what each hook all-reduces"
    return (explain_by_hooks(case, fact, update) if reduced < wanted else None) or (code, look_at)


def judge_data_parallel_traffic(observation: Observation, seed: int) -> Verdict:
    """Judge how often the gradients are all-reduced for each update, on every rank."""
    updates = 0
    for number, case in enumerate(accumulation_cases(seed)):
        for rank, facts in enumerate(facts_of(observation, number, case.world_size)):
            verdict = _judge_epoch(case, facts, f"on rank {rank} of {case.world_size}, k = {case.k}")
            if verdict:
                return verdict
        updates += len(group_sizes(case))
    measured = f"{updates} updates on 2, 3 and 4 ranks, each with its gradients all-reduced once"
    return Verdict(PASSED, "the gradients all-reduced once for each update", measured)


def group_sizes(case: AccumulationCase) -> list[int]:
    """Return how many micro-batches of a rank each update has."""
    full, rest = divmod(case.micro_batches, case.k)
    return [case.k] * full + [rest] * bool(rest)


def _judge_epoch(case: AccumulationCase, facts: Facts, place: str) -> Verdict | None:
    groups = group_sizes(case)
    gradient_bytes = sum(parameter.nbytes for parameter in case.make_model().parameters())
    *updates, after = facts["calls"]
    if len(updates) != len(groups):
        look_at = "where optimizer.step() is called: the other check says more"
        return Verdict(
            "other_updates", f"{count(len(groups), 'update')} {place}", count(len(updates), "update"), look_at
        )
    events: Sequence[str] = facts["events"]
    if "update" in events[: events.index("backward") if "backward" in events else None]:
        look_at = "optimizer.step() comes after the last backward of its group, not before the first"
        return Verdict("update_before_backward", f"each update after its backwards, {place}", "a step first", look_at)
    reduced = [_times(calls, gradient_bytes, size) for calls, size in zip(updates, groups, strict=True)]
    if all(one == 1 for one in reduced) and not _times(after, gradient_bytes, case.micro_batches):
        return None
    expected = f"{place}, the gradients all-reduced once for each update"
    times, sizes = ", ".join(f"{one:.3g}" for one in reduced), ", ".join(map(str, groups))
    measured = f"{times} times for the updates of {sizes} micro-batches"
    code, look_at = _explain_epoch(case, facts, reduced, groups)
    return Verdict(code, expected, measured, look_at)


def _times(calls: Sequence[Sequence[Any]], gradient_bytes: int, micro_batches: int) -> float:
    """Return how often gradients of so many bytes were all-reduced, but for a number of each micro-batch for a log."""
    whole, rest = divmod(sum(all_reduces(calls)), gradient_bytes)
    is_log = rest <= LOG_BYTES * micro_batches
    return float(whole) if is_log else whole + rest / gradient_bytes


def _explain_epoch(case: AccumulationCase, facts: Facts, reduced: list[float], groups: list[int]) -> tuple[str, str]:
    if not any(reduced):
        if not facts["is_synchronised"]:
            return "wrapper_bypassed", "model.module skips DistributedDataParallel: call model itself"
        return (
            "never_synchronised",
            "the last micro-batch of a group: its forward and backward stand outside of no_sync",
        )
    if reduced == [float(size) for size in groups]:
        return _explain_no_sync(facts)
    if all(one in (1.0, float(size)) for one, size in zip(reduced, groups, strict=True)):
        return "short_group_always_synchronises", "the last group may be shorter: which is its last micro-batch?"
    if any(not one.is_integer() for one in reduced):
        look_at = "gradients once, and at most one number of each micro-batch besides: what else do you all-reduce?"
        return "bytes_beside_gradients", look_at
    if all(one in (0.0, 1.0) for one in reduced):
        return "short_group_not_synchronised", "the last group may be shorter: which is its last micro-batch?"
    if all(one == size - 1 for one, size in zip(reduced, groups, strict=True)):
        return "quiet_and_loud_swapped", "the condition of no_sync: it is for all micro-batches but the last"
    if all(one == 2 for one in reduced):
        return (
            "reduced_twice",
            "two all-reduces for each update: DistributedDataParallel makes one, who makes the other?",
        )
    return "synchronised_elsewhere", "for which micro-batches of a group no_sync is entered"


def _explain_no_sync(facts: Facts) -> tuple[str, str]:
    """Explain why every backward was synchronised."""
    if not facts["no_sync_called"]:
        return "no_sync_not_used", "model.no_sync(): which micro-batches of a group run inside it?"
    if facts["no_sync_entered"] < facts["no_sync_called"]:
        look_at = "model.no_sync() only makes a context: `with` enters it, and switches the all-reduce off"
        return "no_sync_never_entered", look_at
    return "no_sync_around_backward_only", "forward decides: does model(inputs) stand inside of no_sync too?"

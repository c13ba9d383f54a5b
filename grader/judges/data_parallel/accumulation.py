"""Verdict on an epoch with accumulation on several ranks: whose micro-batches, which updates, which gradients."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.cases.data_parallel import LEARNING_RATE, AccumulationCase, accumulation_cases
from grader.judges.data_parallel.reports import Facts, facts_of, tensors_of_rank
from grader.judges.equivalence import compare
from grader.judges.forms import count
from grader.judges.updates import Reference, judge_updates
from grader.judges.vectors import gradient_at
from grader.observation import Observation
from grader.verdict import PASSED, Verdict


def judge_data_parallel_updates(observation: Observation, seed: int) -> Verdict:
    """Compare every update on every rank with that of one process which has the micro-batches of all ranks."""
    updates = 0
    for number, case in enumerate(accumulation_cases(seed)):
        reports = facts_of(observation, number, case.world_size)
        verdict = _judge_rows(case, reports)
        if verdict:
            return verdict
        for rank, facts in enumerate(reports):
            tensors = tensors_of_rank(observation, number, rank)
            verdict = judge_rank(_reference(case), _own(case, rank), tensors, facts, case.world_size)
            if verdict:
                return _name_silence(verdict, facts, case)
        updates += len(_reference(case).boundaries)
    measured = f"{updates} updates on 2, 3 and 4 ranks, each with the gradient of its large batch on every rank"
    return Verdict(PASSED, "the gradient of the large batch at every update", measured)


def judge_rank(
    reference: Reference, own: Reference, tensors: Mapping[str, Tensor], facts: Facts, world_size: int
) -> Verdict | None:
    """Find what is wrong with one epoch of a rank.

    Args:
        reference: What a right loop does; the gradient of a micro-batch is the mean over all ranks.
        own: The same without the other ranks.
        tensors: "gradient.0", ... right before each update, "weights.0", ... then and at the end.
        facts: "events" and "forward_rows" of the record.
        world_size: How many ranks.

    Returns:
        The verdict on the first thing that is wrong, or None.
    """
    verdict = judge_updates(facts, tensors, reference)
    if verdict is None or verdict.code not in EXPLAINED:
        return verdict
    start = 0
    for update, end in enumerate(reference.boundaries):
        weights, seen = tensors[f"weights.{update}"], tensors[f"gradient.{update}"]
        mean = _mean(reference, weights, range(start, end))
        if not compare(seen, mean).is_equal:
            own_mean, place = _mean(own, weights, range(start, end)), (update, end - start)
            return _explain(seen, mean, own_mean, place, world_size) or verdict
        start = end
    return verdict


# Verdicts on one process that may have a cause in what the ranks do together.
EXPLAINED = ("other_gradient", "gradient_scaled", "divided_by_another_number", "gradient_divided_twice")


def _mean(reference: Reference, weights: Tensor, micro_batches: Sequence[int]) -> Tensor:
    return torch.stack([reference.gradient(weights, index) for index in micro_batches]).mean(dim=0)


def _explain(seen: Tensor, mean: Tensor, own_mean: Tensor, place: tuple[int, int], world_size: int) -> Verdict | None:
    update, size = place
    expected = f"at update {update + 1}, the mean gradient of the micro-batches of all ranks"
    for factor in (1.0, float(size)):
        if compare(seen, factor * own_mean).is_equal:
            measured = "the gradient of this rank's own micro-batches" + (", not averaged" if factor > 1 else "")
            look_at = "what averages over the ranks: a call of model itself, outside of no_sync, once for each update"
            code = "ranks_not_averaged_later" if update else "ranks_not_averaged"
            return Verdict(code, expected, measured, look_at)
    for factor, code, look_at in (
        (world_size, "summed_over_ranks", "the mean over the ranks is asked for: what multiplies by their number?"),
        (1 / world_size, "divided_by_ranks_too", "the ranks are averaged already: who divides again?"),
    ):
        if compare(seen, mean).is_multiple(factor):
            return Verdict(code, expected, f"exactly {factor:.4g} times that gradient", look_at)
    return None


def _name_silence(verdict: Verdict, facts: Facts, case: AccumulationCase) -> Verdict:
    """Name the reason why ranks did not average, by which forwards of the wrapper were to be synchronised."""
    flags: Sequence[bool] = facts["is_synchronised"]
    if verdict.code == "ranks_not_averaged" and not flags:
        look_at = "model.module skips DistributedDataParallel: call model itself"
        return replace(verdict, code="wrapper_bypassed", look_at=look_at)
    if verdict.code == "ranks_not_averaged" and not any(flags):
        look_at = "the last micro-batch of a group: its forward and backward stand outside of no_sync"
        return replace(verdict, code="always_silent", look_at=look_at)
    if verdict.code == "ranks_not_averaged_later":
        look_at = "the last group may be shorter: which is its last micro-batch?"
        return replace(verdict, code="short_group_silent", look_at=look_at)
    first = list(flags[: case.k])
    if verdict.code in EXPLAINED and len(first) > 1 and all(first[:-1]) and not first[-1]:
        look_at = "the condition of no_sync: it is for all micro-batches of a group but the last"
        return replace(
            verdict, code="last_one_silent", measured="no_sync at the last micro-batch only", look_at=look_at
        )
    if verdict.code in EXPLAINED and len(first) > 1 and any(first) and not first[-1]:
        measured = f"an all-reduce at micro-batch {first.index(True) + 1} of {len(first)}, and none at the last"
        look_at = "what comes after the all-reduce stays on its rank: which micro-batch of a group is the last?"
        return replace(verdict, code="synchronised_too_early", measured=measured, look_at=look_at)
    return verdict


def _judge_rows(case: AccumulationCase, reports: Sequence[Facts]) -> Verdict | None:
    """Judge which micro-batches each rank ran; a forward of a whole group is told by its rows."""
    seen = [[index for rows in facts["seen"] for index in rows] for facts in reports]
    right = _rows_by(lambda rank, size, own: range(rank, size * own, size), case)
    if seen == right or any(rows > case.rows for facts in reports for rows in facts["forward_rows"]):
        return None
    rank = next(rank for rank in range(case.world_size) if seen[rank] != right[rank])
    expected = f"micro-batches {_few(right[rank])} on rank {rank} of {case.world_size}"
    measured = f"micro-batches {_few(seen[rank])}" if seen[rank] else "no forward"
    code, look_at = _explain_rows(case, seen, right)
    return Verdict(code, expected, measured, look_at)


def _rows_by(rule: Callable[[int, int, int], Sequence[int]], case: AccumulationCase) -> list[list[int]]:
    """Return the micro-batches of each rank by a rule of rank, number of ranks, and micro-batches of a rank."""
    return [list(rule(rank, case.world_size, case.micro_batches)) for rank in range(case.world_size)]


def _explain_rows(case: AccumulationCase, seen: list[list[int]], right: list[list[int]]) -> tuple[str, str]:
    full = case.micro_batches - case.micro_batches % case.k
    for rule, code, look_at in (
        (lambda rank, size, own: (), "no_forward", "the loop: does it call model?"),
        (
            lambda rank, size, own: range(case.k),
            "first_group_only",
            "the rest of the list, and this rank's share of it",
        ),
        (
            lambda rank, size, own: range(size * own),
            "all_rows_on_every_rank",
            "every rank goes through all micro-batches: which are this rank's?",
        ),
        (lambda rank, size, own: range(0, size * own, size), "same_rows_on_every_rank", _SAME),
        (lambda rank, size, own: range(own), "same_rows_on_every_rank", _SAME),
        (
            lambda rank, size, own: range(rank * own, (rank + 1) * own),
            "rows_in_one_piece",
            "rank r has every world_size-th micro-batch, from r on",
        ),
        (
            lambda rank, size, own: range(rank, size * own, size)[:full],
            "last_group_lost",
            "the micro-batches after the last full group",
        ),
        (lambda rank, size, own: right[rank] * 2, "epoch_repeated", "one epoch is asked for: how often does it run?"),
    ):
        if seen == _rows_by(rule, case):
            return code, look_at
    if any(-1 in rows for rows in seen):
        return "other_inputs", "what model is called with: the inputs of one micro-batch, as they are"
    if [sorted(rows) for rows in seen] == right:
        return "rows_in_another_order", "the order of this rank's micro-batches"
    return "other_rows", "which micro-batches are this rank's: every world_size-th, from number rank on"


_SAME = "all ranks train on the same micro-batches: where does rank come in?"


def _few(numbers: Sequence[int]) -> str:
    shown = ", ".join(map(str, numbers[:8]))
    return f"{shown}, ... ({count(len(numbers), 'forward')})" if len(numbers) > 8 else shown


@lru_cache(maxsize=8)
def _reference(case: AccumulationCase) -> Reference:
    return _make_reference(case, range(case.world_size))


@lru_cache(maxsize=16)
def _own(case: AccumulationCase, rank: int) -> Reference:
    return _make_reference(case, (rank,))


def _make_reference(case: AccumulationCase, ranks: Sequence[int]) -> Reference:
    model, batches = case.make_model(), case.make_micro_batches()

    def loss(number: int) -> Tensor:
        pairs = [batches[number * case.world_size + rank] for rank in ranks]
        inputs, targets = (torch.cat(parts) for parts in zip(*pairs, strict=True))
        return F.mse_loss(model(inputs), targets)

    return Reference(case.micro_batches, case.k, case.rows, LEARNING_RATE, partial(gradient_at, model, loss))

"""Verdict on an epoch with accumulation on several ranks: whose micro-batches, which updates, which gradients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
        for rank, facts in enumerate(facts_of(observation, number, case.world_size)):
            tensors = tensors_of_rank(observation, number, rank)
            verdict = _judge_rows(case, rank, facts) or judge_rank(
                _reference(case), _own(case, rank), tensors, facts, case.world_size
            )
            if verdict:
                return verdict
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
    if verdict is None or "gradient.0" not in tensors or not bool(torch.isfinite(tensors["gradient.0"]).all()):
        return verdict
    size, weights, seen = reference.boundaries[0], tensors["weights.0"], tensors["gradient.0"]
    mean = torch.stack([own.gradient(weights, index) for index in range(size)]).mean(dim=0)
    all_ranks = torch.stack([reference.gradient(weights, index) for index in range(size)]).mean(dim=0)
    expected = "at update 1, the mean gradient of the micro-batches of all ranks"
    for factor in (1.0, float(size)):
        if compare(seen, factor * mean).is_equal and verdict.code in ("other_gradient", "gradient_scaled"):
            measured = "the gradient of this rank's own micro-batches" + (", not averaged" if factor > 1 else "")
            look_at = "what averages over the ranks: a call of model itself, outside of no_sync, once for each update"
            return Verdict("ranks_not_averaged", expected, measured, look_at)
    comparison = compare(seen, all_ranks)
    for factor, code, look_at in (
        (world_size, "summed_over_ranks", "the mean over the ranks is asked for: what multiplies by their number?"),
        (1 / world_size, "divided_by_ranks_too", "the ranks are averaged already: who divides again?"),
    ):
        if verdict.code != "gradient_not_averaged" and comparison.is_multiple(factor):
            return Verdict(code, expected, f"exactly {comparison.factor:.4g} times that gradient", look_at)
    return verdict


def _judge_rows(case: AccumulationCase, rank: int, facts: Facts) -> Verdict | None:
    seen = [index for rows in facts["seen"] for index in rows]
    total = case.world_size * case.micro_batches
    wanted = list(range(rank, total, case.world_size))
    if seen == wanted:
        return None
    expected = f"micro-batches {_few(wanted)} on rank {rank} of {case.world_size}"
    measured = f"micro-batches {_few(seen)}" if seen else "no forward"
    code, look_at = _explain_rows(case, rank, seen)
    return Verdict(code, expected, measured, look_at)


def _explain_rows(case: AccumulationCase, rank: int, seen: list[int]) -> tuple[str, str]:
    world_size, own = case.world_size, case.micro_batches
    total = world_size * own
    full = own - own % case.k
    known: tuple[tuple[Sequence[int], str, str], ...] = (
        ((), "no_forward", "the loop: does it call model?"),
        (range(total), "all_rows_on_every_rank", "every rank goes through all micro-batches: which are this rank's?"),
        (
            range(0, total, world_size),
            "same_rows_on_every_rank",
            "the rows of rank 0 on every rank: where does rank come in?",
        ),
        (range(own), "same_rows_on_every_rank", "the first rows on every rank: where does rank come in?"),
        (
            range(rank * own, (rank + 1) * own),
            "rows_in_one_piece",
            "rank r has every world_size-th micro-batch, from r on",
        ),
        (range(rank + 1, total, world_size), "rows_of_the_next_rank", "where rank 0 begins: it counts from 0"),
        (range(rank, total, world_size)[:full], "last_group_lost", "the micro-batches after the last full group"),
    )
    for rows, code, look_at in known:
        if seen == list(rows):
            return code, look_at
    if -1 in seen:
        return "other_inputs", "what model is called with: the inputs of one micro-batch, as they are"
    right = list(range(rank, total, world_size))
    if len(seen) > len(right) and len(seen) % len(right) == 0 and seen == right * (len(seen) // len(right)):
        return "epoch_repeated", "how often the micro-batches are walked through: one epoch is asked for"
    if sorted(seen) == right:
        return "rows_in_another_order", "the order of this rank's micro-batches"
    return "other_rows", "which micro-batches are this rank's: micro_batches[rank::world_size]"


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

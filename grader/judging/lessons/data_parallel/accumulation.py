"""Verdict on an epoch with accumulation on several ranks: whose micro-batches, which updates, which gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.judging.equivalence import RELATIVE_TOLERANCE, compare
from grader.judging.lessons.data_parallel.accumulation_causes import (
    EXPLAINED,
    judge_idle_ranks,
    judge_rows,
    name_places,
    name_silence,
)
from grader.judging.lessons.data_parallel.reports import Facts, facts_of, tensors_of_rank
from grader.judging.updates import Reference, judge_updates, places_of_updates
from grader.judging.vectors import gradient_at
from grader.lessons.data_parallel.accumulation import AccumulationCase, accumulation_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict


def judge_data_parallel_updates(observation: Observation, seed: int) -> Verdict:
    """Compare every update on every rank with that of one process which has the micro-batches of all ranks."""
    updates, cases = 0, accumulation_cases(seed)
    places = [
        [places_of_updates(facts["events"]) for facts in facts_of(observation, number, case.world_size)]
        for number, case in enumerate(cases)
    ]
    for number, case in enumerate(cases):
        reports = facts_of(observation, number, case.world_size)
        verdict = judge_rows(case, reports) or _judge_given(reports) or judge_idle_ranks(reports)
        if verdict:
            return verdict
        for rank, facts in enumerate(reports):
            tensors = tensors_of_rank(observation, number, rank)
            verdict = judge_rank(_reference(case), _own(case, rank), tensors, facts, case.world_size)
            if verdict:
                verdict = name_places(verdict, cases, places)
                return name_silence(_name_loss(verdict, case, tensors), facts, case)
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
    for update, weights, seen, members in _groups(reference, tensors):
        mean = _mean(reference, weights, members)
        if not compare(seen, mean).is_equal:
            own_mean = _mean(own, weights, members)
            return _explain(seen, mean, own_mean, (update, len(members)), world_size) or verdict
    return verdict


def _groups(reference: Reference, tensors: Mapping[str, Tensor]) -> Iterator[tuple[int, Tensor, Tensor, range]]:
    """Yield of each update its number, the weights, the gradient that was seen, and its micro-batches."""
    start = 0
    for update, end in enumerate(reference.boundaries):
        yield update, tensors[f"weights.{update}"], tensors[f"gradient.{update}"], range(start, end)
        start = end


def _judge_given(reports: Sequence[Facts]) -> Verdict | None:
    """Judge what became of the optimizer and the list that the function was given."""
    if any(facts["other_steps"] for facts in reports):
        look_at = "the optimizer that your function is given: it makes the updates, with its own learning rate"
        return Verdict("own_optimizer", "steps of the given optimizer alone", "a step of another one", look_at)
    if any(facts["list_changed"] for facts in reports):
        look_at = "clear(), pop(), or a line that writes into a tensor of the list: a slice is a list of your own"
        return Verdict("micro_batches_changed", "micro_batches as they were", "another list", look_at)
    return None


def _name_loss(verdict: Verdict, case: AccumulationCase, tensors: Mapping[str, Tensor]) -> Verdict:
    """Name another loss, or a change of its gradient, as the cause of a gradient that is not right."""
    if verdict.code not in ("other_gradient", "gradient_scaled", "divided_by_another_number"):
        return verdict
    for _, weights, seen, members in _groups(_reference(case), tensors):
        mean = _mean(_reference(case), weights, members)
        if compare(seen, mean).is_equal:
            continue
        if compare(seen, mean).is_multiple(case.rows):
            look_at = f"the loss of a micro-batch is a mean over its {case.rows} rows, not their sum"
            return replace(verdict, code="loss_summed", look_at=look_at)
        norm = float(torch.linalg.vector_norm(seen))
        if compare(seen, mean).factor < 1 and verdict.code != "other_gradient" and is_round(norm):
            measured = f"{verdict.measured}, of norm {norm:.4g}"
            return replace(
                verdict, code="gradient_clipped", measured=measured, look_at="a clipping that nobody asked for"
            )
        if compare(seen, _mean(_absolute(case), weights, members)).is_equal:
            measured = "the gradient of the mean absolute error"
            return replace(
                verdict, code="another_loss", measured=measured, look_at="the loss that is asked for: F.mse_loss"
            )
        if verdict.code == "other_gradient":
            look_at = "the rows are right: is the loss F.mse_loss, and what else changes .grad before the step?"
            return replace(verdict, look_at=look_at)
    return verdict


def is_round(norm: float) -> bool:
    """Whether a norm is one that a person writes: a number of one digit that is not 0."""
    return norm > 0 and abs(norm - float(f"{norm:.0e}")) < RELATIVE_TOLERANCE * norm


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


@lru_cache(maxsize=8)
def _reference(case: AccumulationCase) -> Reference:
    return _make_reference(case, range(case.world_size))


@lru_cache(maxsize=16)
def _own(case: AccumulationCase, rank: int) -> Reference:
    return _make_reference(case, (rank,))


@lru_cache(maxsize=8)
def _absolute(case: AccumulationCase) -> Reference:
    return _make_reference(case, range(case.world_size), F.l1_loss)


def _make_reference(
    case: AccumulationCase, ranks: Sequence[int], criterion: Callable[..., Tensor] = F.mse_loss
) -> Reference:
    model, batches = case.make_model(), case.make_micro_batches()

    def loss(number: int) -> Tensor:
        pairs = [batches[number * case.world_size + rank] for rank in ranks]
        inputs, targets = (torch.cat(parts) for parts in zip(*pairs, strict=True))
        return criterion(model(inputs), targets)

    return Reference(case.micro_batches, case.k, case.rows, case.learning_rate, partial(gradient_at, model, loss))

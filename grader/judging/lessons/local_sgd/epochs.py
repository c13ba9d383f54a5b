"""Verdict on an epoch of local SGD: whose micro-batches, which gradients, which steps, and averages where."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache, partial

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.judging.equivalence import compare
from grader.judging.lessons.local_sgd.evidence import RankEvidence, averages_of, evidence_of, mean_of
from grader.judging.lessons.local_sgd.movements import judge_movements
from grader.judging.lessons.local_sgd.statistics import judge_statistics
from grader.judging.updates import Reference, judge_gradients
from grader.judging.vectors import gradient_at
from grader.lessons.local_sgd.epochs import EpochCase, epoch_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict


def judge_local_sgd_updates(observation: Observation, seed: int) -> Verdict:
    """Compare every update and every average with those of ranks that are simulated in one process."""
    cases = epoch_cases(seed)
    for number, case in enumerate(cases):
        ranks = evidence_of(observation, number, case.world_size)
        verdict = judge_epoch(case, ranks) or judge_statistics(case, ranks)
        if verdict:
            return verdict
    updates, averages = sum(case.updates for case in cases), sum(len(averages_of(case)) for case in cases)
    measured = f"{updates} updates on 2 and 3 ranks with their own gradients, and {averages} averages in their places"
    return Verdict(PASSED, "own gradients, and averages after every few updates", measured)


def judge_epoch(case: EpochCase, ranks: Sequence[RankEvidence]) -> Verdict | None:
    """Find what is wrong with one epoch but for running statistics.

    Args:
        case: The setting.
        ranks: "events", "forward_rows", "seen" and "calls" of each rank; "gradient.0", ... right before each update,
            "weights.0", ... then and at the end.

    Returns:
        The verdict on the first thing that is wrong, or None.
    """
    verdict = _judge_rows(case, ranks)
    if verdict:
        return verdict
    for rank, evidence in enumerate(ranks):
        if not all(evidence.facts.get("is_training", ())):
            expected = f"forwards in train mode on rank {rank} of {case.world_size}"
            return Verdict("not_in_train_mode", expected, "a forward in eval mode", "model.eval(): who calls it?")
        verdict = judge_gradients(evidence.facts, evidence.tensors, _own(case, rank))
        if verdict and verdict.code == "gradient_divided_twice":
            look_at = "one division, by the micro-batches of the group: gradients are not shared with other ranks"
            return replace(verdict, look_at=look_at)
        if verdict:
            return _explain_gradient(case, ranks, rank, verdict) if verdict.code in EXPLAINED else verdict
    return judge_movements(case, ranks)


# Verdicts on one process that may have a cause in what the ranks do together.
EXPLAINED = ("other_gradient", "gradient_scaled", "divided_by_another_number", "micro_batches_weighed_unequally")


Loss = Callable[[Tensor, Tensor], Tensor]


@lru_cache(maxsize=32)
def _own(case: EpochCase, rank: int, measure: Loss = F.mse_loss) -> Reference:
    model, batches, rows = case.make_model(), case.make_micro_batches(), case.rows_of(rank)

    def loss(number: int) -> Tensor:
        inputs, targets = batches[rows[number]]
        return measure(model(inputs), targets)

    # The optimizer's steps are judged elsewhere, so the learning rate of plain SGD is not asked for.
    return Reference(case.micro_batches, case.k, case.rows, 0.0, partial(gradient_at, model, loss))


def group_gradient(case: EpochCase, rank: int, update: int, weights: Tensor, measure: Loss = F.mse_loss) -> Tensor:
    """Return the gradient of the mean loss of a rank's group of micro-batches, at given weights."""
    ends = [0, *case.boundaries]
    own = _own(case, rank, measure)
    parts = [own.gradient(weights, number) for number in range(ends[update], ends[update + 1])]
    return mean_of(parts)


def _explain_gradient(case: EpochCase, ranks: Sequence[RankEvidence], rank: int, verdict: Verdict) -> Verdict:
    """Explain a gradient that is not the rank's own at the weights that it holds, by what the ranks do together."""
    for update in range(case.updates):
        if any(f"gradient.{update}" not in evidence.tensors for evidence in ranks):
            return verdict
        seen = ranks[rank].tensors[f"gradient.{update}"]
        own = [
            group_gradient(case, r, update, evidence.tensors[f"weights.{update}"]) for r, evidence in enumerate(ranks)
        ]
        if compare(seen, own[rank]).is_equal:
            continue
        expected = f"at update {update + 1} on rank {rank} of {case.world_size}, the gradient of its own micro-batches"
        look_at = "the parameters are averaged, after an update; gradients stay on their rank: who all-reduces them?"
        if compare(seen, mean_of(own)).is_equal:
            return Verdict("gradients_averaged", expected, "the mean of the ranks' gradients", look_at)
        if compare(seen, case.world_size * mean_of(own)).is_equal:
            return Verdict("gradients_summed", expected, "the sum of the ranks' gradients", look_at)
        if compare(seen, own[rank] / case.world_size).is_equal:
            look_at = "nothing is added over the ranks here, so nothing is divided by their number"
            return Verdict("gradient_divided_by_ranks", expected, f"1 / {case.world_size} of it", look_at)
        return _explain_place(case, ranks[rank], expected) or _explain_loss(case, rank, update, ranks[rank]) or verdict
    return verdict


OTHER_LOSSES = {"F.l1_loss": F.l1_loss, "F.smooth_l1_loss": F.smooth_l1_loss}


def _explain_loss(case: EpochCase, rank: int, update: int, evidence: RankEvidence) -> Verdict | None:
    """Explain a gradient that is the one of another loss."""
    seen, weights = evidence.tensors[f"gradient.{update}"], evidence.tensors[f"weights.{update}"]
    for name, loss in OTHER_LOSSES.items():
        if compare(seen, group_gradient(case, rank, update, weights, loss)).is_equal:
            expected = f"at update {update + 1} on rank {rank} of {case.world_size}, the gradient of F.mse_loss"
            return Verdict("other_loss", expected, f"the gradient of {name}", "which loss is computed of a micro-batch")
    return None


def _explain_place(case: EpochCase, evidence: RankEvidence, expected: str) -> Verdict | None:
    """Explain a gradient of other weights than those that take the step: something was averaged in between."""
    places = sorted({(call.forwards, call.updates) for call in evidence.calls if call.forwards})
    between = [
        place for place in places if place not in set(zip(case.boundaries, range(1, case.updates + 1), strict=True))
    ]
    if not between:
        return None
    forwards = [one for one, _ in places]
    measured = f"an average between its micro-batches and its update: after micro-batch {', '.join(map(str, forwards))}"
    counted = set(range(case.every, case.micro_batches + 1, case.every))
    due = {case.boundaries[update - 1] for update in averages_of(case)}
    if counted != due and {*forwards, case.micro_batches} == {*counted, case.micro_batches}:
        look_at = "every counts updates: what does your condition count?"
        return Verdict("micro_batches_counted", expected, measured, look_at)
    if any(one not in case.boundaries for one, _ in between):
        look_at = "an average within a group of k micro-batches: it belongs behind optimizer.step()"
        return Verdict("averaged_within_group", expected, measured, look_at)
    look_at = "the order: first optimizer.step(), then the average"
    return Verdict("averaged_before_update", expected, measured, look_at)


def _judge_rows(case: EpochCase, ranks: Sequence[RankEvidence]) -> Verdict | None:
    """Judge which micro-batches each rank ran; a forward of a whole group is told by its rows."""
    seen = [evidence.micro_batches for evidence in ranks]
    right = [case.rows_of(rank) for rank in range(case.world_size)]
    is_large = any(rows > case.rows for evidence in ranks for rows in evidence.facts["forward_rows"])
    if seen == right or is_large:
        return None
    rank = next(rank for rank in range(case.world_size) if seen[rank] != right[rank])
    expected = f"micro-batches {_few(right[rank])} on rank {rank} of {case.world_size}"
    measured = f"micro-batches {_few(seen[rank])}" if seen[rank] else "no forward"
    code, look_at = _explain_rows(case, seen, right)
    return Verdict(code, expected, measured, look_at)


def _explain_rows(case: EpochCase, seen: list[list[int]], right: list[list[int]]) -> tuple[str, str]:
    every_rank, size, own = range(case.world_size), case.world_size, case.micro_batches
    same = "all ranks train on the same micro-batches: where does rank come in?"
    full = own - own % case.k
    for rows, code, look_at in (
        ([[]] * size, "no_forward", "the loop: does it call model?"),
        ([list(range(size * own))] * size, "all_rows_on_every_rank", "every rank goes through all: which are its own?"),
        ([right[0]] * size, "same_rows_on_every_rank", same),
        ([list(range(own))] * size, "same_rows_on_every_rank", same),
        ([list(range(r * own, (r + 1) * own)) for r in every_rank], "rows_in_one_piece", _EVERY_NTH),
        ([list(range(r, size * own, 2)) for r in every_rank], "two_ranks_assumed", "how many ranks are there?"),
        ([one[:full] for one in right], "last_group_lost", "the micro-batches after the last full group"),
        ([one * 2 for one in right], "epoch_repeated", "one epoch is asked for: how often does it run?"),
    ):
        if seen == rows:
            return code, look_at
    if any(-1 in rows for rows in seen):
        return "other_inputs", "what model is called with: the inputs of one micro-batch, as they are"
    return "other_rows", f"which micro-batches are this rank's: {_EVERY_NTH}"


_EVERY_NTH = "rank r has every world_size-th micro-batch, from r on"


def _few(numbers: Iterable[int]) -> str:
    some = list(numbers)
    shown = ", ".join(map(str, some[:8]))
    return f"{shown}, ... ({len(some)} forwards)" if len(some) > 8 else shown


def own_gradients(case: EpochCase, weights: Sequence[Tensor], update: int) -> list[Tensor]:
    """Return the gradient of each rank's own group at its weights."""
    return [group_gradient(case, rank, update, one) for rank, one in enumerate(weights)]


def first_weights(case: EpochCase) -> Tensor:
    """Return the weights with which every rank begins."""
    return torch.nn.utils.parameters_to_vector(case.make_model().parameters()).detach()

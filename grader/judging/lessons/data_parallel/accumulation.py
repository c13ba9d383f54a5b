"""Judges an epoch with accumulation on several ranks: whose micro-batches, which updates, which gradients."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.judging.equivalence import compare
from grader.judging.kept import keep_cases
from grader.judging.lessons.data_parallel.reports import Facts, facts_of, tensors_of_rank
from grader.judging.misconceptions import Misconception, Table
from grader.judging.rank_rows import RankRows
from grader.judging.references import VISIBLE_SEED
from grader.judging.updates import Reference, judge_updates, places_of_updates
from grader.judging.vectors import gradient_at
from grader.lessons.data_parallel.accumulation import AccumulationCase, accumulation_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

# Verdicts on one process that may have a cause in what the ranks do together.
EXPLAINED = ("other_gradient", "gradient_scaled", "divided_by_another_number", "gradient_divided_twice")
# Verdicts on updates after other micro-batches than the last of each group.
MISPLACED = (
    "update_every_micro_batch",
    "update_one_too_late",
    "one_update_only",
    "k_taken_for_updates",
    "last_group_joined",
    "updates_misplaced",
)


@dataclass(frozen=True)
class WrongUpdate:
    """The first update of a rank whose gradient is wrong.

    Attributes:
        number: Which update, from 0.
        size: Micro-batches of a rank in it.
        world_size: How many ranks.
        seen: The gradient right before it.
        mean: The mean gradient of the micro-batches of all ranks.
        own: The mean gradient of this rank's micro-batches.
    """

    number: int
    size: int
    world_size: int
    seen: Tensor
    mean: Tensor
    own: Tensor

    @property
    def is_own(self) -> bool:
        """Whether it is the gradient of this rank alone, or the sum over its micro-batches."""
        return any(compare(self.seen, factor * self.own).is_equal for factor in (1, self.size))

    def is_multiple(self, factor: float) -> bool:
        """Return whether it is the right gradient times a factor."""
        return compare(self.seen, self.mean).is_multiple(factor)


RANKS = Table[WrongUpdate](
    Misconception(
        "ranks_not_averaged",
        "You leave each rank with the gradient of its own micro-batches. Once per update, call model itself outside of "
        "no_sync: that averages over the ranks.",
        shown_by=lambda update: update.is_own and not update.number,
        measured="the gradient of this rank's own micro-batches",
    ),
    Misconception(
        "short_group_silent",
        "You average over the ranks at the first updates, and not at a later one. The last micro-batch of a short "
        "group comes before the k-th: find it by the length of the group.",
        shown_by=lambda update: update.is_own,
        measured="the gradient of this rank's own micro-batches",
    ),
    Misconception(
        "summed_over_ranks",
        "You end with the sum over the ranks. DistributedDataParallel takes their mean: look for a product with "
        "world_size.",
        shown_by=lambda update: update.is_multiple(update.world_size),
        measured="exactly {world_size} times that gradient",
    ),
    Misconception(
        "divided_by_ranks_too",
        "You divide by the number of ranks, but DistributedDataParallel takes the mean over the ranks already.",
        shown_by=lambda update: update.is_multiple(1 / update.world_size),
        measured="exactly 1 / {world_size} of that gradient",
    ),
)


def judge_data_parallel_updates(observation: Observation, seed: int) -> Verdict:
    """Compare every update on every rank with that of one process that has the micro-batches of all ranks."""
    updates, cases = 0, accumulation_cases(seed)
    epochs = [Epoch(case, facts_of(observation, number, case.world_size)) for number, case in enumerate(cases)]
    for number, (case, epoch) in enumerate(zip(cases, epochs, strict=True)):
        verdict = RankRows(case, epoch.reports).judge() or EPOCHS.judge(epoch)
        if verdict:
            return verdict
        for rank, facts in enumerate(epoch.reports):
            tensors = tensors_of_rank(observation, number, rank)
            verdict = judge_rank(*_references(case, rank), tensors, facts, case.world_size)
            if verdict:
                failure = Failure(verdict, case, facts, epochs)
                return CAUSES.judge(failure, verdict.expected, verdict.measured) or verdict
        updates += -(-case.micro_batches // case.k)
    measured = f"{updates} updates on 2, 3 and 4 ranks, each with the gradient of its large batch on every rank"
    return Verdict(PASSED, "", measured)


def judge_rank(
    reference: Reference, own: Reference, tensors: Mapping[str, Tensor], facts: Facts, world_size: int
) -> Verdict | None:
    """Return the verdict on the first thing that is wrong with one epoch of a rank, or None.

    Args:
        reference: What a right loop does; the gradient of a micro-batch is the mean over all ranks.
        own: The same without the other ranks.
        tensors: "gradient.0", ... right before each update, "weights.0", ... then and at the end.
        facts: "events" and "forward_rows" of the record.
        world_size: How many ranks.
    """
    verdict = judge_updates(facts, tensors, reference)
    if verdict is None or verdict.code not in EXPLAINED:
        return verdict
    update = wrong_update(reference, own, tensors, world_size)
    expected = f"at update {update.number + 1}, the mean gradient of the micro-batches of all ranks"
    return RANKS.judge(update, expected) or verdict


def wrong_update(reference: Reference, own: Reference, tensors: Mapping[str, Tensor], world_size: int) -> WrongUpdate:
    """Return the first update whose gradient is wrong, or the last update if none is."""
    start = 0
    for number, end in enumerate(reference.boundaries):
        seen, weights = tensors[f"gradient.{number}"], tensors[f"weights.{number}"]
        mean, alone = (_mean(one, weights, range(start, end)) for one in (reference, own))
        update = WrongUpdate(number, end - start, world_size, seen, mean, alone)
        if not compare(seen, mean).is_equal:
            break
        start = end
    return update


def _mean(reference: Reference, weights: Tensor, micro_batches: Sequence[int]) -> Tensor:
    return torch.stack([reference.gradient(weights, index) for index in micro_batches]).mean(dim=0)


@dataclass(frozen=True)
class Epoch:
    """What the ranks reported of an epoch.

    Attributes:
        case: The setting.
        reports: Of each rank.
    """

    case: AccumulationCase
    reports: Sequence[Facts]

    @property
    def idle(self) -> list[int]:
        """The ranks without an update."""
        return [rank for rank, facts in enumerate(self.reports) if "update" not in facts["events"]]

    def has_groups_of(self, size: int) -> bool:
        """Return whether every rank updates after each group of a size, and at the end."""
        own = self.case.micro_batches
        ends = [min(end, own) for end in range(size, own + size, size)]
        return all(places_of_updates(facts["events"]) == ends for facts in self.reports)


EPOCHS = Table[Epoch](
    Misconception(
        "own_optimizer",
        "You step with an optimizer of your own. The one that your function is given makes the updates, with its own "
        "learning rate.",
        shown_by=lambda epoch: any(facts["other_steps"] for facts in epoch.reports),
        expected="steps of the given optimizer alone",
        measured="a step of another one",
    ),
    Misconception(
        "micro_batches_changed",
        "You change the list micro_batches or a tensor in it. Look for clear(), pop() or an assignment; a slice is a "
        "list of your own.",
        shown_by=lambda epoch: any(facts["list_changed"] for facts in epoch.reports),
        expected="micro_batches as they were",
        measured="another list",
    ),
    Misconception(
        "rank_without_update",
        "You update on some ranks only, but every rank has a model of its own. Look at the condition before "
        "optimizer.step().",
        shown_by=lambda epoch: 0 < len(epoch.idle) < len(epoch.reports),
        expected="updates on every rank",
        measured="no update on the ranks {idle} of {case.world_size}",
    ),
)


@dataclass(frozen=True)
class Failure:
    """The verdict on one rank of an epoch, with what may be its cause.

    Attributes:
        verdict: What `judge_rank` found.
        case: The setting.
        facts: Of the rank.
        epochs: Those of all settings.
    """

    verdict: Verdict
    case: AccumulationCase
    facts: Facts
    epochs: Sequence[Epoch]

    @property
    def first(self) -> list[bool]:
        """For each forward of the first group, whether it was to be synchronised."""
        return list(self.facts["is_synchronised"][: self.case.k])

    def has_groups_of(self, size_of: Callable[[int, AccumulationCase], int]) -> bool:
        """Return whether updates are misplaced, and in all settings come after groups of a size."""
        return self.verdict.code in MISPLACED and all(
            epoch.has_groups_of(size_of(number, epoch.case)) for number, epoch in enumerate(self.epochs)
        )


CAUSES = Table[Failure](
    Misconception(
        "k_divided_by_ranks",
        "You divide k by the number of ranks, but k counts the micro-batches of one rank.",
        shown_by=lambda failure: failure.has_groups_of(lambda number, case: max(1, case.k // case.world_size)),
    ),
    Misconception(
        "visible_case_hard_coded",
        "You make groups of the sizes that are right for the notebook's own settings. Use k.",
        shown_by=lambda failure: failure.has_groups_of(lambda number, case: accumulation_cases(VISIBLE_SEED)[number].k),
    ),
    Misconception(
        "wrapper_bypassed",
        "You call model.module, which skips DistributedDataParallel, so nothing is all-reduced. Call model itself.",
        shown_by=lambda failure: (
            failure.verdict.code == "ranks_not_averaged" and not failure.first and not failure.facts["ddp_made"]
        ),
    ),
    Misconception(
        "always_silent",
        "You run every micro-batch inside no_sync. Run the last one of each group outside of it, forward and backward.",
        shown_by=lambda failure: (
            failure.verdict.code == "ranks_not_averaged"
            and bool(failure.first)
            and not any(failure.facts["is_synchronised"])
        ),
    ),
    Misconception(
        "last_one_silent",
        "You run the last micro-batch of a group inside no_sync, and an earlier one outside. Gradients that come after "
        "the all-reduce stay on their rank: look at your condition.",
        shown_by=lambda failure: failure.verdict.code in EXPLAINED and any(failure.first) and not failure.first[-1],
        measured="an all-reduce within the group, and none at its last micro-batch",
    ),
    Misconception(
        "other_gradient",
        "You run the right rows and end with another gradient. Look at the loss, which is F.mse_loss, and at what "
        "changes .grad before the step.",
        shown_by=lambda failure: failure.verdict.code == "other_gradient",
    ),
)


def _references(case: AccumulationCase, rank: int) -> tuple[Reference, Reference]:
    """Return the epoch of all ranks in one process, and the epoch of one rank alone."""
    return _reference(case, tuple(range(case.world_size))), _reference(case, (rank,))


@keep_cases
def _reference(case: AccumulationCase, ranks: Sequence[int]) -> Reference:
    """Return the epoch of one process that has the micro-batches of some ranks."""
    model, batches = case.make_model(), case.make_micro_batches()

    def loss(number: int) -> Tensor:
        pairs = [batches[number * case.world_size + rank] for rank in ranks]
        inputs, targets = (torch.cat(parts) for parts in zip(*pairs, strict=True))
        return F.mse_loss(model(inputs), targets)

    return Reference(case.micro_batches, case.k, case.rows, case.learning_rate, partial(gradient_at, model, loss))

"""Judges an epoch of local SGD: whose micro-batches, which gradients, which steps, and averages where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import torch.nn.functional as F
from torch import Tensor

from grader.judging.equivalence import compare
from grader.judging.kept import keep_cases
from grader.judging.lessons.local_sgd.evidence import Epoch, evidence_of, mean_of
from grader.judging.lessons.local_sgd.movements import judge_movements, judge_statistics
from grader.judging.misconceptions import Misconception, Table
from grader.judging.rank_rows import RankRows
from grader.judging.updates import Reference, judge_gradients
from grader.judging.vectors import gradient_at
from grader.lessons.local_sgd.epochs import EpochCase, epoch_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

# Verdicts on one process that may have a cause in what the ranks do together.
EXPLAINED = (
    "other_gradient",
    "gradient_scaled",
    "gradient_divided_twice",
    "divided_by_another_number",
    "micro_batches_weighed_unequally",
)


def judge_local_sgd_updates(observation: Observation, seed: int) -> Verdict:
    """Compare every update and every average with those of ranks that are simulated in one process."""
    cases = epoch_cases(seed)
    epochs = [Epoch(case, evidence_of(observation, number, case.world_size)) for number, case in enumerate(cases)]
    for epoch in epochs:
        verdict = judge_epoch(epoch) or judge_statistics(epoch)
        if verdict:
            return verdict
    updates, averages = (sum(numbers) for numbers in zip(*((e.updates, len(e.averages)) for e in epochs), strict=True))
    measured = f"{updates} updates on 2 and 3 ranks with their own gradients, and {averages} averages in their places"
    return Verdict(PASSED, "", measured)


def judge_epoch(epoch: Epoch) -> Verdict | None:
    """Return the verdict on the first thing that is wrong with one epoch, running statistics aside, or None.

    Each rank has "events", "forward_rows", "seen" and "calls"; "gradient.0", ... right before each update,
    "weights.0", ... then and at the end.
    """
    verdict = RankRows(epoch.case, [evidence.facts for evidence in epoch.ranks]).judge() or MODES.judge(epoch)
    if verdict:
        return verdict
    for rank, evidence in enumerate(epoch.ranks):
        verdict = judge_gradients(evidence.facts, evidence.tensors, _own(epoch.case, rank))
        if verdict:
            found = _wrong_gradient(epoch, rank, verdict) if verdict.code in EXPLAINED else None
            return (found and GRADIENTS.judge(found, found.expected, verdict.measured)) or verdict
    return judge_movements(epoch)


MODES = Table[Epoch](
    Misconception(
        "not_in_train_mode",
        "You run model in eval mode, so its running statistics do not learn. Look for a call of eval().",
        shown_by=lambda epoch: not all(all(evidence.facts.get("is_training", ())) for evidence in epoch.ranks),
        expected="forwards in train mode",
        measured="a forward in eval mode",
    ),
)


@keep_cases
def _own(case: EpochCase, rank: int) -> Reference:
    model, batches = case.make_model(), case.make_micro_batches()[rank :: case.world_size]

    def loss(number: int) -> Tensor:
        inputs, targets = batches[number]
        return F.mse_loss(model(inputs), targets)

    # The optimizer's steps are judged elsewhere, so the learning rate of plain SGD is not used.
    return Reference(case.micro_batches, case.k, case.rows, 0.0, partial(gradient_at, model, loss))


def own_gradients(case: EpochCase, weights: Sequence[Tensor], update: int) -> list[Tensor]:
    """Return the gradient of the mean loss of each rank's own group, at its weights."""
    members = range(update * case.k, min((update + 1) * case.k, case.micro_batches))
    return [mean_of([_own(case, rank).gradient(one, number) for number in members]) for rank, one in enumerate(weights)]


@dataclass(frozen=True)
class WrongGradient:
    """The first gradient of a rank that is not its own.

    Attributes:
        epoch: The epoch.
        rank: The rank.
        verdict: What is wrong with it, as in one process.
        update: Which update, from 0.
        seen: The gradient right before it.
        own: What each rank's gradient should be.
    """

    epoch: Epoch
    rank: int
    verdict: Verdict
    update: int
    seen: Tensor
    own: list[Tensor]

    @property
    def expected(self) -> str:
        """What was expected."""
        size = self.epoch.case.world_size
        return f"at update {self.update + 1} on rank {self.rank} of {size}, the gradient of its own micro-batches"

    @property
    def places(self) -> list[int]:
        """After which micro-batches the rank's collectives came."""
        return sorted({call.forwards for call in self.epoch.ranks[self.rank].calls if call.forwards})

    @property
    def is_averaged_early(self) -> bool:
        """Whether a collective comes before the update of its micro-batches."""
        calls = {(call.forwards, call.updates) for call in self.epoch.ranks[self.rank].calls if call.forwards}
        return bool(calls - set(zip(self.epoch.boundaries, range(1, self.epoch.updates + 1), strict=True)))

    @property
    def is_averaged_by_micro_batches(self) -> bool:
        """Whether collectives come after every `every` micro-batches, and not after the updates that are due."""
        case, last = self.epoch.case, self.epoch.case.micro_batches
        counted = {*range(case.every, last + 1, case.every), last}
        due = {self.epoch.boundaries[update - 1] for update in self.epoch.averages}
        return self.is_averaged_early and {*self.places, last} == counted != due


def _wrong_gradient(epoch: Epoch, rank: int, verdict: Verdict) -> WrongGradient | None:
    for update in range(epoch.updates):
        if any(f"gradient.{update}" not in evidence.tensors for evidence in epoch.ranks):
            return None
        seen = epoch.ranks[rank].tensors[f"gradient.{update}"]
        own = own_gradients(epoch.case, epoch.tensors(f"weights.{update}"), update)
        if not compare(seen, own[rank]).is_equal:
            return WrongGradient(epoch, rank, verdict, update, seen, own)
    return None


GRADIENTS = Table[WrongGradient](
    Misconception(
        "gradients_averaged",
        "You average or sum the gradients over the ranks. In local SGD gradients stay on their rank: average the "
        "parameters, after an update.",
        shown_by=lambda wrong: any(
            compare(wrong.seen, factor * mean_of(wrong.own)).is_equal for factor in (1, len(wrong.own))
        ),
        measured="the mean or the sum of the ranks' gradients",
    ),
    Misconception(
        "gradient_divided_by_ranks",
        "You divide by the number of ranks, but no gradient is added over the ranks. Divide the loss by the "
        "micro-batches of its group alone.",
        shown_by=lambda wrong: compare(wrong.seen, wrong.own[wrong.rank] / len(wrong.own)).is_equal,
        measured="1 / {epoch.case.world_size} of it",
    ),
    Misconception(
        "micro_batches_counted",
        "You average after every `every` micro-batches. `every` counts updates, each of k micro-batches.",
        shown_by=lambda wrong: wrong.is_averaged_by_micro_batches,
        measured="an average between its micro-batches and its update, after the micro-batches {places}",
    ),
    Misconception(
        "averaged_before_update",
        "You average within a group or before its optimizer.step(). Step first, and then average.",
        shown_by=lambda wrong: wrong.is_averaged_early,
        measured="an average between its micro-batches and its update, after the micro-batches {places}",
    ),
    Misconception(
        "gradient_divided_twice",
        "You divide twice. Divide the loss once, by the micro-batches of its group: gradients are not shared with "
        "other ranks.",
        shown_by=lambda wrong: wrong.verdict.code == "gradient_divided_twice",
    ),
    Misconception(
        "other_gradient",
        "You run the right rows and end with another gradient. Look at the loss, which is F.mse_loss, and at what "
        "changes .grad before the step.",
        shown_by=lambda wrong: wrong.verdict.code == "other_gradient",
    ),
)

"""Judges the steps of an epoch of local SGD, the averages between them, and the running statistics at its end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor, nn

from grader.judging.equivalence import compare
from grader.judging.lessons.local_sgd.evidence import Epoch, are_near, is_near, mean_of
from grader.judging.misconceptions import Misconception, Table
from grader.lessons.local_sgd.epochs import EpochCase
from grader.verdict import Verdict


class Stepper:
    """The optimizer of one simulated rank, with its state.

    Args:
        case: The setting.
    """

    def __init__(self, case: EpochCase):
        self.model = case.make_model()
        self.optimizer = case.make_optimizer(self.model)

    def step(self, weights: Tensor, gradient: Tensor) -> Tensor:
        """Return the weights after one step from given weights with a given gradient."""
        parameters = list(self.model.parameters())
        sizes = [one.numel() for one in parameters]
        with torch.no_grad():
            nn.utils.vector_to_parameters(weights.clone(), parameters)  # the parameters become views of it
        for parameter, part in zip(parameters, torch.split(gradient, sizes), strict=True):
            parameter.grad = part.view_as(parameter).clone()
        self.optimizer.step()
        return nn.utils.parameters_to_vector(parameters).detach()


@dataclass(frozen=True)
class Move:
    """How the weights of all ranks move at one update, and at the average after it.

    Attributes:
        epoch: The epoch.
        update: Which update, from 0.
        local: The weights after each rank's own step.
    """

    epoch: Epoch
    update: int
    local: list[Tensor]

    @property
    def size(self) -> int:
        """How many ranks."""
        return len(self.local)

    @cached_property
    def before(self) -> list[Tensor]:
        """The weights before."""
        return self.epoch.tensors(f"weights.{self.update}")

    @cached_property
    def after(self) -> list[Tensor]:
        """The weights after."""
        return self.epoch.tensors(f"weights.{self.update + 1}")

    @cached_property
    def way(self) -> float:
        """Length of the longest step."""
        pairs = zip(self.before, self.local, strict=True)
        return max(float(torch.linalg.vector_norm(two - one)) for one, two in pairs)

    @property
    def reached(self) -> list[int]:
        """The ranks that hold the mean."""
        return [rank for rank, one in enumerate(self.after) if is_near(one, mean_of(self.local), self.way)]

    def ends_at(self, wanted: Sequence[Tensor]) -> bool:
        """Return whether the ranks end at some weights."""
        return are_near(self.after, wanted, self.way)

    @cached_property
    def factor(self) -> float:
        """How many times the mean every rank holds; 0 if it is no multiple, or is the mean."""
        mean = mean_of(self.local)
        factor = compare(self.after[0], mean).factor
        return factor if abs(factor - 1) > 1e-3 and self.ends_at([factor * mean] * self.size) else 0.0


def judge_movements(epoch: Epoch) -> Verdict | None:
    """Return the verdict on the first step that is not the optimizer's, or on averages in other places, or None.

    The gradients are judged already.
    """
    size, averaged = len(epoch.ranks), list[int]()
    start = nn.utils.parameters_to_vector(epoch.case.make_model().parameters()).detach()
    if not are_near(epoch.tensors("weights.0"), [start] * size):
        return STARTS.judge(epoch)
    steppers = [Stepper(epoch.case) for _ in epoch.ranks]
    for update in range(epoch.updates):
        pairs = zip(epoch.tensors(f"weights.{update}"), epoch.tensors(f"gradient.{update}"), strict=True)
        local = [stepper.step(*pair) for stepper, pair in zip(steppers, pairs, strict=True)]
        move = Move(epoch, update, local)
        if len(move.reached) == size:
            averaged.append(update + 1)
        elif not move.ends_at(local):
            expected = f"after update {update + 1} on {size} ranks, each rank's own step, or their mean"
            return MOVES.judge(move, expected, "other weights")
    case, right = epoch.case, ", ".join(map(str, epoch.averages))
    expected = f"an average after update {right} of {epoch.updates}, for every = {case.every}, k = {case.k}"
    return PLACES.judge(Places(epoch, averaged), expected, f"averages after the updates {averaged}")


STARTS = Table[Epoch](
    Misconception(
        "other_start",
        "You change the weights before the first update. All ranks start equal, so nothing has to be done.",
        shown_by=lambda epoch: True,
        expected="the weights that every rank was given",
        measured="others before the first update",
    ),
)
MOVES = Table[Move](
    Misconception(
        "weights_of_one_rank",
        "You copy one rank's weights to all, as a broadcast does. Average the weights of all ranks.",
        shown_by=lambda move: any(move.ends_at([other] * move.size) for other in move.local),
        measured="the weights of one rank on every rank",
    ),
    Misconception(
        "averaged_on_some_ranks",
        "You leave the average on some ranks only. Every rank needs it: call average on each.",
        shown_by=lambda move: bool(move.reached),
        measured="the mean on the ranks {reached} only",
    ),
    Misconception(
        "weights_scaled",
        "You leave a multiple of the mean of the ranks' weights. average divides by the number of ranks already: look "
        "for a sum, a division or a product of your own.",
        shown_by=lambda move: bool(move.factor),
        measured="exactly {factor:.4g} times the mean of the weights of {size} ranks",
    ),
    Misconception(
        "another_optimizer",
        "You step with an optimizer of your own. Use the one that your function is given: it holds this rank's state.",
        shown_by=lambda move: not all(own for one in move.epoch.ranks for own in one.facts.get("is_own_step", ())),
    ),
    Misconception(
        "other_weights",
        "You move the weights by more than one optimizer.step() per group and average. Look for another step, and for "
        "what else writes into the parameters or into the optimizer's state.",
        shown_by=lambda move: True,
    ),
)


@dataclass(frozen=True)
class Places:
    """After which updates the ranks averaged.

    Attributes:
        epoch: The epoch.
        averaged: The updates.
    """

    epoch: Epoch
    averaged: list[int]

    @property
    def without_final(self) -> list[int]:
        """The right places, without an average that is due only because the epoch ends."""
        return [update for update in self.epoch.averages if update % self.epoch.case.every == 0]

    @property
    def by_micro_batches(self) -> tuple[list[int], list[int]]:
        """The updates after which `every` further micro-batches are done, and those after exactly so many."""
        ends, every = [0, *self.epoch.boundaries], self.epoch.case.every
        updates = range(1, self.epoch.updates + 1)
        passed = [update for update in updates if ends[update] // every > ends[update - 1] // every]
        return passed, [update for update in updates if ends[update] % every == 0]

    def are(self, *places: Iterable[int]) -> bool:
        """Return whether the ranks averaged in one of these places, with or without the last update."""
        last = self.epoch.updates
        return any(self.averaged in (list(one), sorted({*one, last})) for one in map(list, places))

    def are_every(self, start: int, step: int) -> bool:
        """Return whether the ranks averaged after an update and then after every few."""
        return self.are(range(max(start, 1), self.epoch.updates + 1, max(step, 1)))


PLACES = Table[Places](
    Misconception(
        "no_final_average",
        "You leave out the final average, although updates came after the last one.",
        shown_by=lambda places: places.averaged == places.without_final != places.epoch.averages,
    ),
    Misconception(
        "never_averaged",
        "You leave the ranks without an average of their weights. Call average(model) itself, after every `every` "
        "updates, and at the end if it is needed.",
        shown_by=lambda places: not places.averaged,
    ),
    Misconception(
        "final_average_only",
        "You average at the end only. Average after every `every` updates, too.",
        shown_by=lambda places: places.averaged == [places.epoch.updates] != places.epoch.averages,
    ),
    Misconception(
        "averaged_every_update",
        "You average after every update. Use `every`.",
        shown_by=lambda places: places.are_every(1, 1) and places.epoch.case.every > 1,
    ),
    Misconception(
        "micro_batches_counted",
        "You average after every `every` micro-batches. `every` counts updates, each of k micro-batches.",
        shown_by=lambda places: places.averaged != places.epoch.averages and places.are(*places.by_micro_batches),
    ),
    Misconception(
        "averaged_at_index_zero",
        "You average after the first update, as if its number were a multiple of `every`. Count updates from 1.",
        shown_by=lambda places: places.epoch.case.every > 1 and places.are_every(1, places.epoch.case.every),
    ),
    Misconception(
        "averages_misplaced",
        "You average after other updates than every `every`-th. Look at the condition before average(model).",
        shown_by=lambda places: places.averaged != places.epoch.averages,
    ),
)


class Statistics(NamedTuple):
    """Whether the running statistics at the end are right, or each rank's own; and whether counters are right."""

    are_right: bool
    are_own: bool
    are_counts_right: bool


def judge_statistics(epoch: Epoch) -> Verdict | None:
    """Compare buffers at the end with those of simulated ranks; the weights are judged already."""
    if not epoch.case.is_normalised:
        return None
    seen, counts = epoch.tensors("statistics"), [evidence.facts["counts"] for evidence in epoch.ranks]
    are_right, are_own = (
        all(
            compare(*pair).is_equal for pair in zip(seen, simulate_statistics(epoch, is_averaged=averaged), strict=True)
        )
        for averaged in (True, False)
    )
    statistics = Statistics(are_right, are_own, all(one == [epoch.case.micro_batches] for one in counts))
    expected = f"running statistics of {len(seen)} ranks, averaged with the parameters"
    return STATISTICS.judge(statistics, expected, "others at the end")


STATISTICS = Table[Statistics](
    Misconception(
        "statistics_not_averaged",
        "You average the parameters and leave the running statistics apart. The given average(model) averages both.",
        shown_by=lambda statistics: not statistics.are_right and statistics.are_own,
        measured="each rank's own at the end",
    ),
    Misconception(
        "other_statistics",
        "You change the running statistics. Look for what writes into buffers in addition to forwards and average.",
        shown_by=lambda statistics: not statistics.are_right,
    ),
    Misconception(
        "counter_changed",
        "You change the counter of forwards. Counters are integers, and stay as they are.",
        shown_by=lambda statistics: not statistics.are_counts_right,
        expected="one count for each forward",
        measured="another number",
    ),
)


def simulate_statistics(epoch: Epoch, *, is_averaged: bool) -> list[Tensor]:
    """Run the forwards of all ranks at the weights that they had, and return their running statistics at the end."""
    models, batches = [epoch.case.make_model() for _ in epoch.ranks], epoch.case.make_micro_batches()
    for update in range(epoch.updates):
        for rank, (model, weights) in enumerate(zip(models, epoch.tensors(f"weights.{update}"), strict=True)):
            with torch.no_grad():
                nn.utils.vector_to_parameters(weights, model.parameters())
                for number in epoch.rows_of(rank, update):
                    model(batches[number][0])
        if is_averaged and update + 1 in epoch.averages:
            average_buffers(models)
    flat = [[one.flatten() for one in model.buffers() if one.is_floating_point()] for model in models]
    return [torch.cat(one) for one in flat]


def average_buffers(models: Sequence[nn.Module]) -> None:
    """Replace each floating-point buffer by its mean over the models."""
    for buffers in zip(*(model.buffers() for model in models), strict=True):
        if buffers[0].is_floating_point():
            mean = torch.stack(list(buffers)).mean(dim=0)
            for buffer in buffers:
                buffer.copy_(mean)

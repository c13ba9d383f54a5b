"""Judges a training loop by its updates: where they happen, with which gradient, and where they lead."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from grader.judging.equivalence import RELATIVE_TOLERANCE, Comparison, compare
from grader.judging.group_gradient import GROUP_GRADIENT, GroupGradient
from grader.judging.misconceptions import Misconception, Table
from grader.verdict import PASSED, Verdict


@dataclass(frozen=True)
class Reference:
    """What a right loop does.

    Attributes:
        micro_batches: How many it reads.
        k: How many make one update; the last group may be shorter.
        rows: Rows of each micro-batch.
        learning_rate: Of plain SGD.
        gradient: The gradient of the mean loss of one micro-batch at given weights, in one vector.
    """

    micro_batches: int
    k: int
    rows: int
    learning_rate: float
    gradient: Callable[[Tensor, int], Tensor]

    @property
    def boundaries(self) -> list[int]:
        """How many micro-batches there are before each update."""
        return [min(end, self.micro_batches) for end in range(self.k, self.micro_batches + self.k, self.k)]


@dataclass(frozen=True, eq=False)
class Epoch:
    """The events of one epoch, and what a right loop does.

    Attributes:
        events: "forward", "backward" and "update", in their order.
        forward_rows: Rows of each forward.
        right: What a right loop does.
    """

    events: Sequence[str]
    forward_rows: Sequence[int]
    right: Reference

    @cached_property
    def places(self) -> list[int]:
        """How many forwards there are before each update."""
        return places_of_updates(self.events)

    @property
    def is_misplaced(self) -> bool:
        """Whether updates happen elsewhere than at the ends of groups."""
        return self.places != self.right.boundaries

    @property
    def expected_places(self) -> str:
        """Where a right loop updates, in words."""
        return _list(self.right.boundaries)

    @property
    def said_places(self) -> str:
        """Where this loop updates, in words."""
        return f"an update after micro-batch {_list(self.places)}" if self.places else "no update"

    @property
    def forwards(self) -> int:
        """How many forwards there are."""
        return len(self.forward_rows)

    @property
    def largest_forward(self) -> int:
        """Rows of the largest forward."""
        return max(self.forward_rows, default=0)

    @property
    def epochs(self) -> int:
        """How often the micro-batches are walked through, where it is a whole number of times; else 0."""
        epochs, rest = divmod(self.forwards, self.right.micro_batches)
        return 0 if rest else epochs

    @property
    def waiting(self) -> int:
        """How many forwards at most ran without a backward between them."""
        return most_forwards_waiting(self.events)


@dataclass(frozen=True, eq=False)
class Movement:
    """How one update moves the weights.

    Attributes:
        moved: How far they moved.
        wanted: Learning rate times gradient.
        weights: Before the update.
        rounding: What rounding of the weights alone may add, as a norm.
        update: Which update it is, counted from 1.
    """

    moved: Tensor
    wanted: Tensor
    weights: Tensor
    rounding: float
    update: int

    @property
    def is_right(self) -> bool:
        """Whether the weights move as plain SGD moves them."""
        missed = float(torch.linalg.vector_norm(self.moved - self.wanted))
        return missed <= self.rounding + RELATIVE_TOLERANCE * float(torch.linalg.vector_norm(self.wanted))

    @cached_property
    def comparison(self) -> Comparison:
        """How the movement relates to the right one."""
        return compare(self.moved, self.wanted)

    @property
    def is_decay(self) -> bool:
        """Whether the rest of the movement shrinks weights by one factor; the Trainer spares biases and norms."""
        rest = self.moved - self.wanted
        shrinks = rest.abs() > 1e-6 * self.weights.abs()
        if not bool(self.weights[shrinks].any()):
            return False
        decay = compare(rest[shrinks], self.weights[shrinks])
        return decay.factor > 0 and decay.residual <= 1e-2 + self.rounding / float(rest.norm())

    @property
    def is_factor(self) -> bool:
        """Whether the movement is a multiple of the right one."""
        norm = max(float(torch.linalg.vector_norm(self.moved)), self.rounding)
        return self.comparison.residual <= 1e-2 + self.rounding / norm


FORWARDS = "{right.micro_batches} forwards of {right.rows} rows"
PLACES = "an update after micro-batch {expected_places} of {right.micro_batches}, for k = {right.k}"


def _misplaced(
    code: str, diagnosis: str, places: Callable[[int, int, list[int]], Sequence[Iterable[int]]]
) -> Misconception[Epoch]:
    """Return a misconception about where updates happen.

    Args:
        code: Its code.
        diagnosis: Its diagnosis.
        places: Takes the number of micro-batches, k and the right places, and returns the places that show it.
    """

    def shown_by(epoch: Epoch) -> bool:
        right = epoch.right
        known = places(right.micro_batches, right.k, right.boundaries)
        return epoch.is_misplaced and epoch.places in map(sorted, known)

    return Misconception(code, diagnosis, shown_by=shown_by, expected=PLACES, measured="{said_places}")


EPOCH = Table[Epoch](
    Misconception(
        "whole_group_in_one_forward",
        "You pass {largest_forward} rows to the model at once, so their activations are held together. "
        "Pass one micro-batch at a time.",
        shown_by=lambda epoch: epoch.largest_forward > epoch.right.rows,
        expected=FORWARDS,
        measured="a forward of {largest_forward} rows",
    ),
    Misconception(
        "epoch_repeated",
        "You run {epochs} forwards for each micro-batch, as in {epochs} epochs. One is asked for.",
        shown_by=lambda epoch: epoch.epochs > 1,
        expected=FORWARDS,
        measured="{forwards} forwards",
    ),
    Misconception(
        "forward_called",
        "You call model.forward(...), which runs no hooks: neither the check's nor a library's. Call model(...).",
        shown_by=lambda epoch: not epoch.forwards and "backward" in epoch.events,
        expected=FORWARDS,
        measured="no call of the model, and a backward",
    ),
    Misconception(
        "micro_batches_not_seen_once",
        "You skip micro-batches, or read some twice. Compare how many your loop reads with how many it gets.",
        shown_by=lambda epoch: epoch.forwards != epoch.right.micro_batches,
        expected=FORWARDS,
        measured="{forwards} forwards",
    ),
    _misplaced(
        "no_update",
        "You never call the optimizer's step() for this model. Call it after the last micro-batch of each group.",
        lambda n, k, right: [[]],
    ),
    _misplaced(
        "update_every_micro_batch",
        "You update after every micro-batch, so nothing accumulates. Update only once the group is complete.",
        lambda n, k, right: [range(1, n + 1)],
    ),
    _misplaced(
        "update_at_index_zero",
        "You update after the first micro-batch, because 0 % k is 0. Test index + 1, or count from 1.",
        lambda n, k, right: [range(1, n + 1, k), {*range(1, n + 1, k), n}],
    ),
    _misplaced(
        "last_group_lost",
        "You leave out the micro-batches after the last full group. They need an update of their own.",
        lambda n, k, right: [[end for end in right if end % k == 0]],
    ),
    _misplaced(
        "update_of_nothing",
        "You update once more after the last group, without any gradient. "
        "Update after the loop only if micro-batches are left over.",
        lambda n, k, right: [[*right, n]],
    ),
    _misplaced(
        "last_group_updates_each_time",
        "You update after each micro-batch of the last group. "
        "Look at what tells your loop that the epoch ends, and when.",
        lambda n, k, right: [[*right[:-1], *range([0, *right][-2] + 1, n + 1)]],
    ),
    _misplaced(
        "one_update_only",
        "You update once, at the end of the epoch. Each group of k micro-batches has an update.",
        lambda n, k, right: [[n]],
    ),
    _misplaced(
        "update_one_too_late",
        "You update one micro-batch too late: the index counts from 0, so the k-th micro-batch has index k - 1.",
        lambda n, k, right: [range(k + 1, n + 1, k), {*range(k + 1, n + 1, k), n}],
    ),
    _misplaced(
        "last_group_joined",
        "You join the left-over micro-batches to the last full group. They need an update of their own.",
        lambda n, k, right: [[*right[:-2], n]],
    ),
    _misplaced(
        "k_taken_for_updates",
        "You make k updates in the epoch. k is the number of micro-batches of one update.",
        lambda n, k, right: [[*range(size, n, size), n] for size in (n // k, -(-n // k)) if size],
    ),
    Misconception(
        "updates_misplaced",
        "You update after other micro-batches than the last one of each group. "
        "Look at the condition in front of optimizer.step().",
        shown_by=lambda epoch: epoch.is_misplaced,
        expected=PLACES,
        measured="{said_places}",
    ),
    Misconception(
        "graphs_kept",
        "You run {waiting} forwards before a backward, so {waiting} graphs are held at once. "
        "Call backward() after each forward.",
        shown_by=lambda epoch: epoch.waiting > 1 and "backward" in epoch.events,  # torch.autograd.grad leaves none
        expected="a backward after every forward, so that one graph is held at a time",
        measured="{waiting} forwards before a backward",
    ),
)

MOVEMENT = Table[Movement](
    Misconception(
        "learning_rate_changed",
        "You change the learning rate within the epoch. Look for a schedule.",
        shown_by=lambda movement: movement.is_factor and movement.update > 1,
        measured="{comparison.factor:.4g} times that movement",
    ),
    Misconception(
        "other_learning_rate",
        "You step with another learning rate. Use the optimizer that your function receives, as it is.",
        shown_by=lambda movement: movement.is_factor,
        measured="{comparison.factor:.4g} times that movement",
    ),
    Misconception(
        "weight_decay",
        "You let the weights decay, which is not asked for. Look at weight_decay of the optimizer.",
        shown_by=lambda movement: not movement.is_right and movement.is_decay,
        measured="that movement, and a share of every weight",
    ),
    Misconception(
        "another_optimizer",
        "You move the weights with another optimizer than plain SGD. Use the one that is given.",
        shown_by=lambda movement: not movement.is_right,
        measured="a movement in another direction",
    ),
)


def judge_updates(facts: Mapping[str, Any], tensors: Mapping[str, Tensor], reference: Reference) -> Verdict | None:
    """Find what is wrong with one epoch.

    Args:
        facts: "events" and "forward_rows" of the record.
        tensors: "gradient.0", ... right before each update, "weights.0", ... then and at the end.
        reference: What a right loop does on the same data.

    Returns:
        The verdict on the first thing that is wrong, or None.
    """
    return judge_gradients(facts, tensors, reference) or _judge_movements(tensors, reference)


def judge_gradients(facts: Mapping[str, Any], tensors: Mapping[str, Tensor], reference: Reference) -> Verdict | None:
    """Find what is wrong with one epoch, without the movement of the weights; arguments as for `judge_updates`."""
    verdict = EPOCH.judge(Epoch(facts["events"], facts["forward_rows"], reference))
    if verdict:
        return verdict
    for group in _groups(tensors, reference):
        if not group.is_right:
            return GROUP_GRADIENT.judge(
                group, f"at update {group.update}, the gradient of the mean loss of its {group.members}"
            )
    return None


def praise(references: Sequence[Reference]) -> Verdict:
    """Return the verdict on epochs with nothing wrong."""
    updates = sum(len(reference.boundaries) for reference in references)
    micro_batches = sum(reference.micro_batches for reference in references)
    measured = f"{updates} updates from {micro_batches} micro-batches, each with the gradient of its large batch"
    return Verdict(PASSED, "the gradient of the large batch at every update", measured)


def places_of_updates(events: Sequence[str]) -> list[int]:
    """Return how many forwards there are before each update."""
    places, forwards = [], 0
    for event in events:
        forwards += event == "forward"
        if event == "update":
            places.append(forwards)
    return places


def most_forwards_waiting(events: Sequence[str]) -> int:
    """Return how many forwards at most ran without a backward between them."""
    waiting = longest = 0
    for event in events:
        waiting = waiting + 1 if event == "forward" else 0 if event == "backward" else waiting
        longest = max(longest, waiting)
    return longest


def _groups(tensors: Mapping[str, Tensor], reference: Reference) -> Iterator[GroupGradient]:
    start = 0
    for update, end in enumerate(reference.boundaries):
        weights, seen = tensors[f"weights.{update}"], tensors[f"gradient.{update}"]
        parts = [reference.gradient(weights, index) for index in range(start, end)]
        previous = tensors[f"gradient.{update - 1}"] if update else torch.zeros_like(seen)
        yield GroupGradient(seen, parts, previous, reference.k, update + 1)
        start = end


def _judge_movements(tensors: Mapping[str, Tensor], reference: Reference) -> Verdict | None:
    for update in range(len(reference.boundaries)):
        weights, after = tensors[f"weights.{update}"], tensors[f"weights.{update + 1}"]
        rounding = 2**-23 * float(torch.linalg.vector_norm(weights))
        wanted = reference.learning_rate * tensors[f"gradient.{update}"]
        movement = Movement(weights - after, wanted, weights, rounding, update + 1)
        if not movement.is_right:
            expected = f"at update {movement.update}, a movement of learning rate times gradient (SGD)"
            return MOVEMENT.judge(movement, expected)
    return None


def _list(numbers: Sequence[int]) -> str:
    return ", ".join(str(number) for number in numbers)

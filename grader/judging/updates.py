"""Judges a training loop by its updates: where they happen, with which gradient, and where they lead."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from grader.judging.equivalence import RELATIVE_TOLERANCE, compare
from grader.judging.group_gradient import GroupGradient
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
        """How many micro-batches lie before each update."""
        return [min(end, self.micro_batches) for end in range(self.k, self.micro_batches + self.k, self.k)]


def judge_updates(facts: Mapping[str, Any], tensors: Mapping[str, Tensor], reference: Reference) -> Verdict | None:
    """Find what is wrong with one epoch.

    Args:
        facts: "events" and "forward_rows" of the record.
        tensors: "gradient.0", ... right before each update, "weights.0", ... then and at the end.
        reference: What a right loop does on the same data.

    Returns:
        The verdict on the first thing that is wrong, or None.
    """
    return judge_gradients(facts, tensors, reference) or _judge_movement(tensors, reference)


def judge_gradients(facts: Mapping[str, Any], tensors: Mapping[str, Tensor], reference: Reference) -> Verdict | None:
    """Judge one epoch, except for the movement of the weights; the arguments are those of `judge_updates`."""
    return (
        _judge_forwards(facts, reference)
        or _judge_places(facts["events"], reference)
        or _judge_graphs(facts["events"], reference)
        or _judge_gradients(tensors, reference)
    )


def praise(references: Sequence[Reference]) -> Verdict:
    """Return the verdict on epochs with nothing wrong."""
    updates = sum(len(reference.boundaries) for reference in references)
    micro_batches = sum(reference.micro_batches for reference in references)
    measured = f"{updates} updates from {micro_batches} micro-batches, each with the gradient of its large batch"
    return Verdict(PASSED, "the gradient of the large batch at every update", measured)


def _judge_forwards(facts: Mapping[str, Any], reference: Reference) -> Verdict | None:
    rows: Sequence[int] = facts["forward_rows"]
    expected = f"{reference.micro_batches} forwards of {reference.rows} rows"
    if any(seen > reference.rows for seen in rows):
        measured = f"a forward of {max(rows)} rows"
        return Verdict("whole_group_in_one_forward", expected, measured, "how many rows the model sees at once")
    epochs, rest = divmod(len(rows), reference.micro_batches)
    if epochs > 1 and not rest:
        look_at = "how often the micro-batches are walked through: one epoch is asked for"
        return Verdict("epoch_repeated", expected, f"{len(rows)} forwards, {epochs} epochs", look_at)
    if len(rows) != reference.micro_batches:
        look_at = "micro-batches that are skipped or seen twice"
        return Verdict("micro_batches_not_seen_once", expected, f"{len(rows)} forwards", look_at)
    return None


def _judge_places(events: Sequence[str], reference: Reference) -> Verdict | None:
    seen = places_of_updates(events)
    if seen == reference.boundaries:
        return None
    n, k = reference.micro_batches, reference.k
    expected = f"an update after micro-batch {_list(reference.boundaries)} of {n}, for k = {k}"
    measured = f"an update after micro-batch {_list(seen)}" if seen else "no update"
    for places, code, look_at in _known_places(reference):
        if seen == places:
            return Verdict(code, expected, measured, look_at)
    return Verdict("updates_misplaced", expected, measured, "the condition in front of optimizer.step()")


def _known_places(reference: Reference) -> tuple[tuple[list[int], str, str], ...]:
    n, k, right = reference.micro_batches, reference.k, reference.boundaries
    at_zero = "what the index is when the first micro-batch is done: 0 % k == 0"
    early = [index + 1 for index in range(0, n, k)]
    last_group = range([0, *right][-2] + 1, n + 1)
    full = [end for end in right if end % k == 0]
    return (
        ([], "no_update", "who calls optimizer.step()"),
        (list(range(1, n + 1)), "update_every_micro_batch", "what keeps optimizer.step() from acting each time"),
        (sorted({*early, n}), "update_at_index_zero", at_zero),
        (early, "update_at_index_zero", at_zero),
        (full, "last_group_lost", "the micro-batches after the last full group"),
        ([*right, n], "update_of_nothing", "an update after the last group: does it have a micro-batch?"),
        (
            [*right[:-1], *last_group],
            "last_group_updates_each_time",
            "the last group: what tells the loop that the epoch ends, and when?",
        ),
        ([n], "one_update_only", "how many updates one epoch has"),
        *_shifted_places(reference),
    )


def _shifted_places(reference: Reference) -> Iterator[tuple[list[int], str, str]]:
    """Yield where a loop updates that makes groups of another size."""
    n, k, right = reference.micro_batches, reference.k, reference.boundaries
    late = list(range(k + 1, n + 1, k))
    for places in (late, sorted({*late, n})):
        yield places, "update_one_too_late", "what the index is when the k-th micro-batch is done: it counts from 0"
    look_at = "the micro-batches after the last full group: they get an update of their own"
    yield [*right[:-2], n], "last_group_joined", look_at
    for size in (n // k, -(-n // k)):
        if size:
            look_at = "k micro-batches make one update: k is not the number of updates"
            yield [*range(size, n, size), n], "k_taken_for_updates", look_at


def places_of_updates(events: Sequence[str]) -> list[int]:
    """Return how many forwards lie before each update."""
    places, forwards = [], 0
    for event in events:
        forwards += event == "forward"
        if event == "update":
            places.append(forwards)
    return places


def _judge_graphs(events: Sequence[str], reference: Reference) -> Verdict | None:
    waiting = most_forwards_waiting(events)
    if waiting <= 1 or "backward" not in events:  # torch.autograd.grad leaves no such event
        return None
    expected = "a backward after every forward, so that one graph is held at a time"
    return Verdict("graphs_kept", expected, f"{waiting} forwards before a backward", "where backward() is called")


def most_forwards_waiting(events: Sequence[str]) -> int:
    """Return how many forwards at most ran without a backward between them."""
    waiting = longest = 0
    for event in events:
        waiting = waiting + 1 if event == "forward" else 0 if event == "backward" else waiting
        longest = max(longest, waiting)
    return longest


def _judge_gradients(tensors: Mapping[str, Tensor], reference: Reference) -> Verdict | None:
    start = 0
    for update, end in enumerate(reference.boundaries):
        weights, seen = tensors[f"weights.{update}"], tensors[f"gradient.{update}"]
        parts = [reference.gradient(weights, index) for index in range(start, end)]
        previous = tensors[f"gradient.{update - 1}"] if update else torch.zeros_like(seen)
        group = GroupGradient(seen, parts, previous, reference.k)
        if not group.is_right:
            code, measured, look_at = group.explain()
            members = "micro-batch" if len(parts) == 1 else f"{len(parts)} micro-batches"
            expected = f"at update {update + 1}, the gradient of the mean loss of its {members}"
            return Verdict(code, expected, measured, look_at)
        start = end
    return None


def _judge_movement(tensors: Mapping[str, Tensor], reference: Reference) -> Verdict | None:
    for update in range(len(reference.boundaries)):
        weights = tensors[f"weights.{update}"]
        moved = weights - tensors[f"weights.{update + 1}"]
        wanted = reference.learning_rate * tensors[f"gradient.{update}"]
        rounding = 2**-23 * float(torch.linalg.vector_norm(weights))
        missed = float(torch.linalg.vector_norm(moved - wanted))
        if missed <= rounding + RELATIVE_TOLERANCE * float(torch.linalg.vector_norm(wanted)):
            continue
        comparison = compare(moved, wanted)
        expected = f"at update {update + 1}, a movement of learning rate times gradient (SGD)"
        if comparison.residual <= 1e-2 + rounding / max(float(torch.linalg.vector_norm(moved)), rounding):
            measured = f"{comparison.factor:.4g} times that movement"
            if update:
                return Verdict("learning_rate_changed", expected, measured, "a schedule of the learning rate")
            return Verdict("other_learning_rate", expected, measured, "which learning rate the optimizer is given")
        measured = "a movement in another direction"
        return Verdict("another_optimizer", expected, measured, "which optimizer moves the weights")
    return None


def _list(numbers: Sequence[int]) -> str:
    return ", ".join(str(number) for number in numbers)

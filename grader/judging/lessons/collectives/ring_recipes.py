"""Rings as they are written: which chunk goes out at which step, and what becomes of the one that comes in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from grader.judging.lessons.collectives.runs import Run
from grader.lessons.collectives.reductions import BASE

Chunks = list[list[int]]  # for each rank the number in each of its chunks


@dataclass(frozen=True)
class RingRecipe:
    """A ring of two loops; as it stands, the right one.

    At step s of a loop, rank r sends chunk r + send - s and puts what it receives into chunk r + put - s.

    Attributes:
        first_send: `send` of the first loop.
        first_put: `put` of the first loop.
        second_send: `send` of the second loop.
        second_put: `put` of the second loop.
        first_steps: Steps of the first loop beyond one less than the ranks.
        second_steps: The same of the second loop; None where there is no second loop.
        first_adds: Whether the first loop adds.
        second_adds: Whether the second loop adds.
        stride: Chunks by which both numbers move at each step, backwards.
    """

    first_send: int = 0
    first_put: int = -1
    second_send: int = 1
    second_put: int = 0
    first_steps: int = 0
    second_steps: int | None = 0
    first_adds: bool = True
    second_adds: bool = False
    stride: int = 1

    def shifted(self, shift: int) -> RingRecipe:
        """Return the same ring with other numbers of the chunks."""
        return replace(
            self,
            first_send=self.first_send + shift,
            first_put=self.first_put + shift,
            second_send=self.second_send + shift,
            second_put=self.second_put + shift,
        )

    def run(self, ranks: int) -> tuple[Chunks, Chunks]:
        """Return what each rank holds at the end, where rank r gives 16**r, and what it sent, in order."""
        held = [[BASE**rank] * ranks for rank in range(ranks)]
        sent: Chunks = [[] for _ in range(ranks)]
        first_steps = ranks - 1 + self.first_steps
        second_steps = 0 if self.second_steps is None else ranks - 1 + self.second_steps
        for loop, steps in (
            ((self.first_send, self.first_put, self.first_adds), first_steps),
            (
                (self.second_send, self.second_put, self.second_adds),
                second_steps,
            ),
        ):
            send, put, adds = loop
            for step in range(steps):
                _pass_on(held, sent, send - self.stride * step, put - self.stride * step, adds)
        return held, sent


def _pass_on(held: Chunks, sent: Chunks, send: int, put: int, adds: bool) -> None:
    ranks = len(held)
    for rank in range(ranks):
        sent[rank].append(held[rank][(rank + send) % ranks])
    for rank in range(ranks):
        place = (rank + put) % ranks
        held[rank][place] = sent[rank - 1][-1] + (held[rank][place] if adds else 0)


RIGHT = RingRecipe()


@dataclass(frozen=True)
class RingMistake:
    """A misconception about the ring, as what it does otherwise."""

    code: str
    look_at: str
    changes: Mapping[str, Any] = field(default_factory=dict)


_SECOND = "the second loop: it starts with the chunk that this rank finished last. Which number has it?"
_STEPS = "the steps of both loops: for N ranks N - 1 each, and every rank has every chunk"
_GROWS = "the first loop: what you add to at one step is what you send at the next, so that a sum travels on"
MISTAKES = (
    RingMistake("second_half_missing", "each rank has finished one chunk: how do the others get it?"),
    RingMistake(
        "added_in_second_half",
        "the second loop: a finished chunk replaces what is there, and is not added to it",
        {"second_adds": True},
    ),
    RingMistake(
        "overwritten_in_first_half",
        "the first loop: what is received is added to what is there",
        {"first_adds": False},
    ),
    RingMistake("loop_too_long", _STEPS, {"first_steps": 1}),
    RingMistake("loop_too_long", _STEPS, {"second_steps": 1}),
    RingMistake("first_half_too_short", "the steps of the first loop: for N ranks N - 1", {"first_steps": -1}),
    RingMistake("second_half_too_short", "the steps of the second loop: for N ranks N - 1", {"second_steps": -1}),
    RingMistake(
        "both_halves_too_short",
        "the steps of both loops: for N ranks N - 1",
        {"first_steps": -1, "second_steps": -1},
    ),
    RingMistake("unfinished_chunk_sent", _SECOND, {"second_send": 0, "second_put": -1}),
    RingMistake("sums_do_not_travel", _GROWS, {"first_put": 0}),
    RingMistake("sums_do_not_travel", _GROWS, {"stride": 0}),
    RingMistake(
        "chunks_forward",
        "the sign of the step in the number of a chunk: where does the chunk lie that has just been added to?",
        {"stride": -1},
    ),
)
MISSING = replace(RIGHT, second_steps=None)


def recognise_ring(run: Run) -> RingMistake | None:
    """Return the mistake that explains what the ranks hold, where the elements are shared out evenly."""
    ranks = run.ranks
    if not run.case.is_counting or run.case.elements % ranks or ranks < 3:
        return None
    if any(value.numel() != run.case.elements for value in run.returned):
        return None
    held = torch.stack([value.flatten().double() for value in run.returned]).view(ranks, ranks, -1)
    if not bool((held == held[:, :, :1]).all()):
        return None
    seen = held[:, :, 0].round().long().tolist(), run.first_numbers
    for mistake, recipe in _recipes(ranks):
        if any(recipe.shifted(shift).run(ranks) == seen for shift in range(ranks)):
            return mistake
    return None


def _recipes(ranks: int) -> Iterator[tuple[RingMistake, RingRecipe]]:
    yield MISTAKES[0], MISSING
    for mistake in MISTAKES[1:]:
        yield mistake, replace(RIGHT, **mistake.changes)
    first_loop = "the first loop: which chunk do you add to, when your left neighbour sends the one of its own number?"
    for send in range(ranks):
        for put in range(ranks):
            yield RingMistake("second_half_shifted", _SECOND), replace(RIGHT, second_send=send, second_put=put)
    for put in range(ranks):
        yield RingMistake("first_half_shifted", first_loop), replace(RIGHT, first_put=put)

"""Recorded runs that hang, because one rank calls other collectives than the rest."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

Call = tuple[str, int]  # an operation, and its bytes
Change = Callable[[list[Call], int, random.Random], None]


@dataclass(frozen=True)
class HangCase:
    """What each rank had called when a run was stopped.

    Attributes:
        records: Of each rank its calls in order. Their lengths say nothing: calls are only queued.
    """

    records: tuple[tuple[Call, ...], ...]


def hang_cases(seed: int) -> tuple[HangCase, ...]:
    """Ten recorded hangs on three to five ranks: two for each way in which one rank differs; rank 0 is one of them."""
    draw = random.Random(seed)
    ways: list[Change] = [_skip, _repeat, _swap, _resize, _rename] * 2
    cases = [_case(draw, way, 3 + number % 3, number) for number, way in enumerate(ways)]
    draw.shuffle(cases)
    return tuple(cases)


def _case(draw: random.Random, change: Change, world_size: int, number: int) -> HangCase:
    calls = _calls(draw)
    place = draw.randrange(3, len(calls) - 6)
    odd = 0 if number < 2 else draw.randrange(world_size)
    records = []
    for rank in range(world_size):
        own = list(calls)
        if rank == odd:
            change(own, place, draw)
        records.append(tuple(own[: draw.randrange(place + 4, len(own) + 1)]))
    return HangCase(tuple(records))


def _calls(draw: random.Random) -> list[Call]:
    """Return the calls of a training: each step reduces its buckets, from the last layer to the first, and a loss."""
    buckets = draw.sample(range(2, 60), 3)
    step = [("all_reduce", 1024 * size) for size in buckets]
    step += [("reduce_scatter", 1024 * 96), ("all_reduce", 4), ("all_gather", 1024 * 12)]
    return [("broadcast", 1024 * sum(buckets)), *step * 3]


def _skip(calls: list[Call], place: int, draw: random.Random) -> None:
    del calls[place]


def _repeat(calls: list[Call], place: int, draw: random.Random) -> None:
    calls.insert(place, calls[place - 1])


def _swap(calls: list[Call], place: int, draw: random.Random) -> None:
    calls[place], calls[place + 1] = calls[place + 1], calls[place]


def _resize(calls: list[Call], place: int, draw: random.Random) -> None:
    operation, size = calls[place]
    calls[place] = operation, size + 16 * draw.randrange(1, 9)


def _rename(calls: list[Call], place: int, draw: random.Random) -> None:
    operation, size = calls[place]
    calls[place] = "broadcast" if operation != "broadcast" else "all_reduce", size

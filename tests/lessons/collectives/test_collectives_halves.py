"""Half a ring, and means over a ring, on threads: what the judges of lesson 14 say of them, at two seeds."""

from __future__ import annotations

import pytest
import torch
from rank_simulation import observe
from simulated_rings import judged, ring, shaped

from grader.judging.lessons.collectives.average import judge_ring_average
from grader.judging.lessons.collectives.shards import judge_ring_shards
from grader.lessons.collectives.reductions import average_cases, shard_cases

SEEDS = (0, 20011)


def half_ring(first: int, steps: int = 0, returned: int | None = None, cut="tensor_split", finish=lambda chunk: chunk):
    def reduce_scatter(tensor, rank, world_size, send, receive):
        chunks = list(getattr(tensor.flatten(), cut)(world_size))
        for step in range(world_size - 1 + steps):
            send(chunks[(rank + first - step) % world_size], (rank + 1) % world_size)
            place = (rank + first - step - 1) % world_size
            chunks[place] = chunks[place] + receive((rank - 1) % world_size)
        return finish(chunks[(rank + (first + 1 if returned is None else returned)) % world_size])

    return reduce_scatter


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("code", "collective"),
    [
        ("passed", half_ring(-1)),
        ("neighbours_chunk", half_ring(0)),
        ("neighbours_chunk", half_ring(-2)),
        ("loop_too_short", half_ring(-1, steps=-1)),
        ("loop_too_long", half_ring(-1, steps=1)),
        ("unfinished_chunk_returned", half_ring(0, returned=0)),
        ("mean_for_sum", half_ring(-1, finish=lambda chunk: chunk / 4)),
        ("chunk_not_flat", half_ring(-1, finish=lambda chunk: chunk.view(1, -1))),
        ("whole_sum_returned", shaped(ring())),
        ("whole_sum_made", lambda *a: shaped(ring())(*a).flatten().tensor_split(a[2])[a[1]]),
    ],
)
def test_half_a_ring(code, collective, seed):
    assert judge_ring_shards(observe(collective, shard_cases(seed)), seed).code == code


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("code", "finish"),
    [
        ("passed", lambda total, ranks: total / ranks),
        ("not_averaged", lambda total, ranks: total),
        ("averaged_twice", lambda total, ranks: total / ranks**2),
        ("divided_by_others", lambda total, ranks: total / max(1, ranks - 1)),
        ("divided_by_pieces", lambda total, ranks: total / (ranks + 1)),
        ("divided_by_elements", lambda total, ranks: total / total.numel()),
        ("mean_rounded", lambda total, ranks: total // ranks),
        ("mean_rounded", lambda total, ranks: (total / ranks).round()),
        ("scaled", lambda total, ranks: 2 * total / ranks),
    ],
)
def test_means(code, finish, seed):
    assert judged(judge_ring_average, ring(finish=finish), average_cases, seed).code == code


@pytest.mark.parametrize("seed", SEEDS)
def test_pieces_of_chunk_are_told(seed):
    stop = {"stopped": ["raised_index_error", "a chunk", "IndexError", "line 3"]}
    seen = observe(half_ring(-1, cut="chunk"), shard_cases(seed)[:3], **stop)
    assert judge_ring_shards(seen, seed).code == "chunk_for_tensor_split"


def dividing(divide):
    """Return an average whose loop does `divide(own, received, ranks)` at each step."""

    def average(tensor, rank, world_size, send, receive):
        chunks = list(tensor.flatten().tensor_split(world_size))
        for step in range(world_size - 1):
            send(chunks[(rank - step) % world_size], (rank + 1) % world_size)
            place = (rank - step - 1) % world_size
            chunks[place] = divide(chunks[place], receive((rank - 1) % world_size), world_size)
        for step in range(world_size - 1):
            send(chunks[(rank - step + 1) % world_size], (rank + 1) % world_size)
            chunks[(rank - step) % world_size] = receive((rank - 1) % world_size)
        return torch.cat(chunks).view_as(tensor)

    return average


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("code", "divide"),
    [
        ("divided_at_each_step", lambda own, received, ranks: own + received / ranks),
        ("divided_at_each_step", lambda own, received, ranks: (own + received) / ranks),
        ("averaged_in_pairs", lambda own, received, ranks: (own + received) / 2),
    ],
)
def test_divisions_in_the_loop(code, divide, seed):
    assert judge_ring_average(observe(dividing(divide), average_cases(seed)), seed).code == code

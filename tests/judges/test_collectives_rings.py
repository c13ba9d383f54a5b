"""Rings on threads: what the judges of lesson 14 say of them, at two seeds."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from rank_simulation import observe, run

from grader.cases.collectives import ReductionCase, average_cases, ring_cases, shard_cases
from grader.judges.collectives import judge_ring_average, judge_ring_shards, judge_ring_sums, judge_ring_traffic
from grader.judges.collectives.ring_recipes import MISSING, MISTAKES, RIGHT, RingRecipe
from grader.observation import Observation

SEEDS = (0, 20011)


def ring(recipe: RingRecipe = RIGHT, finish=lambda total, ranks: total):
    """Return the function that a recipe stands for."""

    def all_reduce(tensor, rank, world_size, send, receive):
        total = tensor.clone()
        chunks = list(total.view(-1).tensor_split(world_size))
        loops = [(recipe.first_send, recipe.first_put, recipe.first_adds, recipe.first_steps)]
        if recipe.second_steps is not None:
            loops.append((recipe.second_send, recipe.second_put, recipe.second_adds, recipe.second_steps))
        for out, into, adds, more in loops:
            for step in range(world_size - 1 + more if world_size > 1 else 0):
                send(chunks[(rank + out - recipe.stride * step) % world_size], (rank + 1) % world_size)
                received, place = receive((rank - 1) % world_size), (rank + into - recipe.stride * step) % world_size
                chunks[place] = chunks[place] + received if adds and len(received) == len(chunks[place]) else received
        return finish(torch.cat(chunks)[: tensor.numel()].reshape(-1), world_size)

    return all_reduce


def shaped(collective):
    """Return the same in the shape of its input; numbers that do not fit are left out or zero."""

    def all_reduce(tensor, rank, world_size, send, receive):
        flat = collective(tensor, rank, world_size, send, receive)
        return torch.nn.functional.pad(flat, (0, tensor.numel() - flat.numel())).view(tensor.shape)

    return all_reduce


def judged(judge, collective, cases, seed: int):
    return judge(observe(shaped(collective), cases(seed)), seed)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("shift", [0, 1, 2])
def test_a_ring_passes_wherever_its_numbers_begin(seed, shift):
    for judge in (judge_ring_sums, judge_ring_traffic):
        verdict = judged(judge, ring(RIGHT.shifted(shift)), ring_cases, seed)
        assert verdict.is_passed
    assert verdict.measured == "6 rounds on 4 ranks, each sends 1.5 tensors"


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.code)
def test_every_mistake_is_named(mistake, seed):
    recipe = replace(RIGHT, **mistake.changes) if mistake.changes else MISSING
    for shift in (0, 1):
        judge = judge_ring_traffic if mistake.code == "loop_too_long" else judge_ring_sums
        assert judged(judge, ring(recipe.shifted(shift)), ring_cases, seed).code == mistake.code


@pytest.mark.parametrize("ranks", [3, 4, 5, 6])
def test_a_recipe_does_what_its_ring_does(ranks):
    for changes in ({}, *(mistake.changes for mistake in MISTAKES)):
        recipe = replace(RIGHT, **changes)
        held, sent = recipe.run(ranks)
        seen = run(ring(recipe), ReductionCase(ranks, (ranks,)).inputs())
        assert [one["returned"].long().tolist() for one in seen] == held
        assert [one["first_numbers"] for one in seen] == sent


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("code", "finish"),
    [
        ("mean_for_sum", lambda total, ranks: total / ranks),
        ("scaled", lambda total, ranks: 3 * total),
        ("one_rank_changed", lambda total, ranks: total if ranks > 1 else 2 * total),
        ("chunks_misplaced", lambda total, ranks: total.flip(0)),
    ],
)
def test_what_is_done_to_the_sum_is_named(code, finish, seed):
    assert judged(judge_ring_sums, ring(finish=finish), ring_cases, seed).code == code


def whole(tensor, rank, world_size, send, receive):
    total, passing = tensor.clone(), tensor
    for _ in range(world_size - 1):
        send(passing, (rank + 1) % world_size)
        passing = receive((rank - 1) % world_size)
        total += passing
    return total


def through_a_root(tensor, rank, world_size, send, receive):
    if rank > 0:
        send(tensor, 0)
        return receive(0)
    total = sum((receive(other) for other in range(1, world_size)), tensor.clone())
    for other in range(1, world_size):
        send(total, other)
    return total


def in_halves(tensor, rank, world_size, send, receive):
    """Send each chunk as two messages."""

    def send_twice(value, destination):
        send(value[: len(value) // 2], destination)
        send(value[len(value) // 2 :], destination)

    def receive_twice(source):
        return torch.cat([receive(source), receive(source)])

    return shaped(ring())(tensor, rank, world_size, send_twice, receive_twice)


def with_a_last_word(tensor, rank, world_size, send, receive):
    total = shaped(ring())(tensor, rank, world_size, send, receive)
    if world_size > 1:
        send(total[:0], (rank + 1) % world_size)
    return total


def changing_its_input(tensor, rank, world_size, send, receive):
    total = shaped(ring())(tensor, rank, world_size, send, receive)
    tensor.copy_(total)
    return total


def returning_another_list(tensor, rank, world_size, send, receive):
    """Replace chunks in a list, and return the tensor whose views they were."""
    total = tensor.clone()
    chunks = list(total.view(-1).tensor_split(world_size))
    for step in range(2 * (world_size - 1)):
        send(chunks[(rank - step) % world_size], (rank + 1) % world_size)
        received, place = receive((rank - 1) % world_size), (rank - step - 1) % world_size
        if step < world_size - 1:
            chunks[place] += received
        else:
            chunks[place] = received
    return total


def turning_left(tensor, rank, world_size, send, receive):
    last = world_size - 1
    return shaped(ring())(
        tensor, last - rank, world_size, lambda v, to: send(v, last - to), lambda source: receive(last - source)
    )


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("code", "collective"),
    [
        ("tensor_not_chunked", whole),
        ("through_a_root", through_a_root),
        ("messages_too_many", in_halves),
        ("messages_unread", with_a_last_word),
        ("input_changed", changing_its_input),
        ("ring_reversed", turning_left),
        ("others_chunks_not_put_in", returning_another_list),
    ],
)
def test_what_is_no_ring_of_chunks_is_named(code, collective, seed):
    assert judge_ring_traffic(observe(collective, ring_cases(seed)), seed).code == code


def test_whole_tensors_give_sums_that_differ_among_ranks():
    case = ReductionCase(8, (1000,), seed=1)
    first, *others = (seen["returned"] for seen in run(whole, case.inputs()))
    assert not all(torch.equal(first, other) for other in others)
    chunked = [seen["returned"] for seen in run(ring(), case.inputs())]
    assert all(torch.equal(chunked[0], other) for other in chunked)


def half_ring(first: int, steps: int = 0, finish=lambda chunk: chunk):
    def reduce_scatter(tensor, rank, world_size, send, receive):
        chunks = list(tensor.flatten().tensor_split(world_size))
        for step in range(world_size - 1 + steps):
            send(chunks[(rank + first - step) % world_size], (rank + 1) % world_size)
            place = (rank + first - step - 1) % world_size
            chunks[place] = chunks[place] + receive((rank - 1) % world_size)
        return finish(chunks[(rank + first + 1) % world_size])

    return reduce_scatter


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("code", "collective"),
    [
        ("passed", half_ring(-1)),
        ("neighbours_chunk", half_ring(0)),
        ("neighbours_chunk", half_ring(-2)),
        ("own_tensor_returned", half_ring(-1, steps=-1)),
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
        ("scaled", lambda total, ranks: 2 * total / ranks),
    ],
)
def test_means(code, finish, seed):
    assert judged(judge_ring_average, ring(finish=finish), average_cases, seed).code == code


def test_a_stop_is_told_unless_what_went_before_explains_it():
    stop = {"stopped": ["raised_index_error", "a ring", "IndexError", "line 3"]}
    seen = observe(shaped(ring()), ring_cases(0)[:1], **stop)
    assert judge_ring_sums(seen, 0).code == "raised_index_error"
    seen = observe(shaped(ring(replace(RIGHT, first_steps=1))), ring_cases(0)[:1], **stop)
    assert judge_ring_sums(seen, 0).code == "loop_too_long"


def test_data_that_no_check_writes_is_refused():
    seen = observe(shaped(ring()), ring_cases(0))
    for facts in (
        {"settings": []},
        {"settings": seen.facts["settings"][:2]},
        {"settings": [ranks[:1] for ranks in seen.facts["settings"]]},
        seen.facts | {"stopped": ["passed", "", "", ""]},
    ):
        with pytest.raises(ValueError):
            judge_ring_sums(Observation(facts, seen.tensors), 0)


def test_nan_is_no_sum():
    seen = observe(shaped(ring()), ring_cases(0))
    tensors = {name: torch.full_like(tensor, torch.nan) for name, tensor in seen.tensors.items()}
    assert not judge_ring_sums(Observation(seen.facts, tensors), 0).is_passed
    assert not judge_ring_traffic(Observation(seen.facts, tensors), 0).is_passed

"""Rings on threads: what the judges of lesson 14 say of them, at two seeds."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from rank_simulation import observe, run
from simulated_rings import judged, ring, shaped

from grader.judging.lessons.collectives.ring import judge_ring_sums, judge_ring_traffic
from grader.judging.lessons.collectives.ring_recipes import MISSING, MISTAKES, RIGHT
from grader.lessons.collectives.reductions import ReductionCase, ring_cases
from grader.observation import Observation

SEEDS = (0, 20011)


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


def with_pieces(cut, steps=lambda ranks: ranks - 1):
    """Return a ring over the pieces that `cut` makes of a tensor."""

    def all_reduce(tensor, rank, world_size, send, receive):
        total = tensor.clone()
        pieces = list(cut(total, world_size))
        for step in range(2 * steps(world_size) if world_size > 1 else 0):
            send(pieces[(rank - step) % world_size], (rank + 1) % world_size)
            received, place = receive((rank - 1) % world_size), (rank - step - 1) % world_size
            pieces[place] = received if step >= steps(world_size) else pieces[place] + received
        return torch.cat(pieces).reshape(tensor.shape)

    return all_reduce


def in_float16(tensor, rank, world_size, send, receive):
    """Send what is finished as float16."""
    sent = []

    def send_some(value, destination):
        sent.append(value)
        send(value.half() if len(sent) >= world_size else value, destination)

    return shaped(ring())(tensor, rank, world_size, send_some, lambda source: receive(source).to(tensor.dtype))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("code", "collective"),
    [
        ("passed", with_pieces(lambda total, ranks: total.flatten().tensor_split(ranks))),
        ("rows_shared_out", with_pieces(lambda total, ranks: total.tensor_split(ranks))),
        ("steps_of_four_ranks", with_pieces(lambda total, ranks: total.flatten().tensor_split(ranks), lambda _: 3)),
        ("message_of_other_size", in_float16),
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


def test_a_stop_is_told_unless_what_went_before_explains_it():
    stop = {"stopped": ["raised_index_error", "a ring", "IndexError", "line 3"]}
    seen = observe(shaped(ring()), ring_cases(0)[:1], **stop)
    assert judge_ring_sums(seen, 0).code == "raised_index_error"
    seen = observe(shaped(ring(replace(RIGHT, first_steps=1))), ring_cases(0)[:1], **stop)
    assert judge_ring_sums(seen, 0).code == "loop_too_long"


@pytest.mark.parametrize("seed", SEEDS)
def test_too_few_pieces_are_told_by_what_the_pieces_were_before(seed):
    stop = {"stopped": ["raised_index_error", "a ring", "IndexError", "line 3"]}
    for cut, code in (("chunk", "chunk_for_tensor_split"), ("tensor_split", "raised_index_error")):
        collective = with_pieces(lambda total, ranks, cut=cut: getattr(total.flatten(), cut)(ranks))
        verdict = judge_ring_sums(observe(collective, ring_cases(seed)[:3], **stop), seed)
        assert (verdict.code, verdict.measured) == (code, "IndexError")


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

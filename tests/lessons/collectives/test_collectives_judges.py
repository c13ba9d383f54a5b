"""Collectives on threads: right ones pass, and what no answer of a bank does is reported, at two seeds."""

from __future__ import annotations

import pytest
import torch
from rank_simulation import observe, run

from grader.judging.lessons.collectives.butterfly import judge_butterfly_rounds, judge_butterfly_sums
from grader.judging.lessons.collectives.costs import NUMBERS, all_reduce_cost, judge_all_reduce_costs
from grader.judging.lessons.collectives.ring import (
    judge_ring_shards,
    judge_ring_sums,
    judge_ring_traffic,
)
from grader.judging.lessons.collectives.runs import digits_of
from grader.judging.lessons.collectives.sums import say_count, say_digits
from grader.lessons.collectives.reductions import (
    ReductionCase,
    butterfly_cases,
    ring_cases,
    shard_cases,
)
from grader.observation import Observation

SEEDS = (0, 20011)
REFUSED = {"refused": [{"error": "ValueError", "named": None, "messages": 0}] * 3}
STOP = {"stopped": ["raised_index_error", "a ring", "IndexError", "line 3"]}


def powers(ranks: int) -> list[int]:
    return [1 << bit for bit in range(ranks.bit_length() - 1)]


def butterfly(tensor, rank, world_size, send, receive):
    total = tensor.clone()
    for distance in powers(world_size):
        send(total, rank ^ distance)
        total = total + receive(rank ^ distance)
    return total


def ring(shift: int = 0, cut="tensor_split"):
    """Return a ring whose chunk numbers are shifted, or that cuts by another function."""

    def all_reduce(tensor, rank, world_size, send, receive):
        chunks = list(getattr(tensor.flatten(), cut)(world_size))
        for step in range(2 * (world_size - 1)):
            send(chunks[(rank + shift - step) % world_size], (rank + 1) % world_size)
            received, place = receive((rank - 1) % world_size), (rank + shift - step - 1) % world_size
            chunks[place] = chunks[place] + received if step < world_size - 1 else received
        return torch.cat(chunks).view(tensor.shape)

    return all_reduce


@pytest.mark.parametrize(
    ("algorithm", "rounds", "tensors"), [("naive", 14, 7), ("tree", 6, 3), ("butterfly", 3, 3), ("ring", 14, 1.75)]
)
def test_eight_ranks_cost_what_the_lesson_says(algorithm, rounds, tensors):
    assert all_reduce_cost(algorithm, 8, 800) == {"rounds": rounds, "bytes": tensors * 800}


@pytest.mark.parametrize("ranks", [2, 4, 8, 16])
def test_the_costs_are_those_of_real_messages(ranks):
    seen = observe(ring(), [ReductionCase(ranks, (ranks,))]).facts["settings"][0]
    sent = sum(size for kind, _, size in seen[0]["events"] if kind == "send")
    assert sent == all_reduce_cost("ring", ranks, 8 * ranks)["bytes"]
    seen = observe(butterfly, [ReductionCase(ranks, (ranks,))]).facts["settings"][0]
    assert sum(kind == "send" for kind, _, _ in seen[0]["events"]) == all_reduce_cost("butterfly", ranks, 8)["rounds"]


def test_a_misconception_about_one_number_is_shown_on_its_algorithm_though_another_one_is_wrong_too():
    predicted = [list(truth.values()) for truth in NUMBERS.truths(0)]
    for index, case in enumerate(NUMBERS.reference.cases(0)):
        if case.algorithm == "ring":
            predicted[index][1] /= 2
        if case.algorithm == "tree":
            predicted[index] = [1.0, 1.0]
    verdict = judge_all_reduce_costs(Observation({"predicted": predicted}), 0)
    assert verdict.code == "ring_half_bytes" and "for ring, 8 ranks" in verdict.expected


@pytest.mark.parametrize("seed", SEEDS)
def test_right_collectives_pass(seed):
    seen = observe(butterfly, butterfly_cases(seed), **REFUSED)
    assert judge_butterfly_sums(seen, seed).is_passed
    assert judge_butterfly_rounds(seen, seed).measured.startswith("3 rounds on 8 ranks")
    for shift in (0, 1, 2):
        verdict = judge_ring_traffic(observe(ring(shift), ring_cases(seed)), seed)
        assert (verdict.code, verdict.measured) == ("passed", "6 rounds on 4 ranks, each sends 1.5 tensors")


@pytest.mark.parametrize("seed", SEEDS)
def test_a_shifted_ring_is_explained_like_any_other(seed):
    def without_its_second_half(tensor, rank, world_size, send, receive):
        chunks = list(tensor.flatten().tensor_split(world_size))
        for step in range(world_size - 1):
            send(chunks[(rank + 2 - step) % world_size], (rank + 1) % world_size)
            chunks[(rank + 1 - step) % world_size] = chunks[(rank + 1 - step) % world_size] + receive(
                (rank - 1) % world_size
            )
        return torch.cat(chunks).view(tensor.shape)

    seen = observe(without_its_second_half, ring_cases(seed))
    assert judge_ring_sums(seen, seed).code == "second_half_missing"


def in_halves(tensor, rank, world_size, send, receive):
    """Send each chunk as two messages."""

    def send_twice(value, destination):
        send(value[: len(value) // 2], destination)
        send(value[len(value) // 2 :], destination)

    return ring()(tensor, rank, world_size, send_twice, lambda source: torch.cat([receive(source), receive(source)]))


def in_turns(tensor, rank, world_size, send, receive):
    total = tensor.clone()
    for distance in powers(world_size):
        other = rank ^ distance
        if rank < other:
            send(total, other)
        received = receive(other)
        if rank > other:
            send(total, other)
        total = total + received
    return total


@pytest.mark.parametrize("seed", SEEDS)
def test_messages_that_no_bank_sends_are_named(seed):
    assert judge_ring_traffic(observe(in_halves, ring_cases(seed)), seed).code == "messages_too_many"
    seen = observe(in_turns, butterfly_cases(seed), **REFUSED)
    assert judge_butterfly_rounds(seen, seed).code == "one_after_the_other"


def narrow(dtype):
    """Return a butterfly whose messages are in a narrower format."""

    def all_reduce(tensor, rank, world_size, send, receive):
        return butterfly(tensor, rank, world_size, lambda total, peer: send(total.to(dtype), peer), receive)

    return all_reduce


def twice(tensor, rank, world_size, send, receive):
    """A butterfly that sends each message two times."""

    def send_twice(total, peer):
        send(total, peer)
        send(total, peer)

    return butterfly(tensor, rank, world_size, send_twice, lambda peer: (receive(peer), receive(peer))[0])


def whole_tensors_in_a_ring(tensor, rank, world_size, send, receive):
    total, passing = tensor.clone(), tensor
    for _ in range(world_size - 1):
        send(passing, (rank + 1) % world_size)
        passing = receive((rank - 1) % world_size)
        total += passing
    return total


@pytest.mark.parametrize(
    ("judge", "algorithm", "code"),
    [
        (judge_butterfly_sums, narrow(torch.float16), "message_of_other_size"),
        (judge_butterfly_rounds, narrow(torch.float32), "tensor_not_whole"),
        (judge_butterfly_rounds, twice, "message_repeated"),
        (judge_butterfly_rounds, whole_tensors_in_a_ring, "ring_used"),
    ],
)
def test_butterflies_that_no_bank_holds_are_named(judge, algorithm, code):
    assert judge(observe(algorithm, butterfly_cases(0), **REFUSED), 0).code == code


def spoilt(change):
    """Return a ring in which rank 0 changes what it received first."""

    def all_reduce(tensor, rank, world_size, send, receive):
        calls = iter(range(2 * world_size))

        def receive_first(peer):
            received = receive(peer)
            return change(received) if next(calls) == 0 and rank == 0 else received

        return ring()(tensor, rank, world_size, send, receive_first)

    return all_reduce


def turned(tensor, rank, world_size, send, receive):
    """A ring that puts its chunks together from the second one on."""
    chunks = ring()(tensor, rank, world_size, send, receive).flatten().tensor_split(world_size)
    return torch.cat([*chunks[1:], chunks[0]]).view(tensor.shape)


def halves(tensor, rank, world_size, send, receive):
    """A ring whose messages are in 16 bits."""
    return ring()(tensor, rank, world_size, lambda chunk, peer: send(chunk.half(), peer), receive)


@pytest.mark.parametrize(
    ("judge", "algorithm", "code"),
    [
        (judge_ring_sums, spoilt(torch.zeros_like), "rank_missing"),
        (judge_ring_sums, spoilt(lambda received: 2 * received), "counted_twice"),
        (judge_ring_sums, turned, "chunks_misplaced"),
        (judge_ring_traffic, halves, "message_of_other_size"),
    ],
)
def test_rings_that_no_bank_holds_are_named(judge, algorithm, code):
    assert judge(observe(algorithm, ring_cases(0)), 0).code == code


def test_unread_messages_are_named():
    seen = observe(ring(), ring_cases(0))
    for rank in seen.facts["settings"][0]:
        rank["unread_messages"] = 1
    assert judge_ring_traffic(seen, 0).code == "messages_unread"


def test_calls_of_the_library_are_named():
    seen = observe(butterfly, butterfly_cases(0))
    for called, code in ((["all_reduce"], "library_collective"), (["recv", "send"], "library_messages")):
        settings = [[rank | {"collectives": called} for rank in ranks] for ranks in seen.facts["settings"]]
        assert judge_butterfly_sums(Observation({"settings": settings}, seen.tensors), 0).code == code


@pytest.mark.parametrize(
    ("code", "refused"),
    [
        ("refused_by_other_error", [{"error": "", "named": None, "messages": 0}] * 3),
        ("refused_by_other_error", [{"error": "AssertionError", "named": None, "messages": 0}] * 3),
        ("other_ranks_not_refused", [{"error": "", "named": 3, "messages": 1}] * 3),
        ("refused_on_some_ranks", [*REFUSED["refused"][:1], {"error": "", "named": 3, "messages": 1}]),
        ("other_ranks_not_refused", []),
        ("refused_too_late", [{"error": "ValueError", "named": None, "messages": 1}] * 3),
    ],
)
def test_other_numbers_of_ranks_have_to_be_refused(code, refused):
    assert judge_butterfly_rounds(observe(butterfly, butterfly_cases(0), refused=refused), 0).code == code


def test_whole_tensors_give_sums_that_differ_among_ranks():
    case = ReductionCase(8, (1000,), seed=1)
    for collective, is_equal in ((whole_tensors_in_a_ring, False), (ring(), True)):
        first, *others = (seen["returned"] for seen in run(collective, case.inputs()))
        assert all(torch.equal(first, other) for other in others) == is_equal


@pytest.mark.parametrize("seed", SEEDS)
def test_a_stop_is_reported_unless_what_went_before_explains_it(seed):
    for cut, code in (("chunk", "chunk_for_tensor_split"), ("tensor_split", "raised_index_error")):
        verdict = judge_ring_sums(observe(ring(cut=cut), ring_cases(seed)[:3], **STOP), seed)
        assert (verdict.code, verdict.measured) == (code, "IndexError")


@pytest.mark.parametrize("judge", [judge_ring_sums, judge_ring_traffic, judge_ring_shards])
def test_observations_that_no_check_makes_are_rejected(judge):
    seen = observe(ring(), ring_cases(0))
    for facts in (
        {"settings": []},
        {"settings": seen.facts["settings"][:2]},
        {"settings": [ranks[:1] for ranks in seen.facts["settings"]]},
    ):
        with pytest.raises(ValueError, match=r"runs?, where|ranks, where"):
            judge(Observation(facts, seen.tensors), 0)
    with pytest.raises(ValueError, match="a stop is no pass"):
        judge_ring_sums(Observation(seen.facts | {"stopped": ["passed", "", "", ""]}, seen.tensors), 0)


@pytest.mark.parametrize(
    ("judge", "cases"),
    [
        (judge_ring_sums, ring_cases),
        (judge_ring_traffic, ring_cases),
        (judge_ring_shards, shard_cases),
        (judge_butterfly_sums, butterfly_cases),
    ],
)
def test_nan_is_no_sum(judge, cases):
    seen = observe(butterfly if cases is butterfly_cases else ring(), cases(0))
    tensors = {name: torch.full_like(tensor, torch.nan) for name, tensor in seen.tensors.items()}
    assert not judge(Observation(seen.facts, tensors), 0).is_passed


def test_digits_say_who_is_missing_and_who_is_there_twice():
    assert digits_of(float(0x1021), 4) == [1, 2, 0, 1]
    assert say_digits([1, 2, 0, 1]) == "rank 2 missing, rank 1 counted twice"
    assert digits_of(0.5, 4) == digits_of(float(16**4), 4) == digits_of(float("nan"), 4) == []
    assert (say_count(float(0x1111)), say_count(1092.25)) == ("0x1111", "1092.25")

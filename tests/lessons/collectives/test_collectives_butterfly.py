"""Butterflies on threads: what the judges of lesson 14 say of them, at two seeds."""

from __future__ import annotations

import pytest
import torch
from rank_simulation import observe

from grader.judging.lessons.collectives.butterfly import judge_butterfly_rounds, judge_butterfly_sums
from grader.judging.lessons.collectives.counts import digits_of, explain_digits, say_count
from grader.lessons.collectives.reductions import butterfly_cases
from grader.observation import Observation

SEEDS = (0, 20011)
REFUSED = {"refused": [{"error": "ValueError", "named": None, "messages": 0}] * 3}


def powers(ranks: int) -> list[int]:
    return [1 << bit for bit in range(ranks.bit_length() - 1)]


def butterfly(distances=powers, finish=lambda total, tensor: total, *, sends_own: bool = False, adds: bool = True):
    def all_reduce(tensor, rank, world_size, send, receive):
        total = tensor.clone()
        for distance in distances(world_size):
            send(tensor if sends_own else total, rank ^ distance)
            received = receive(rank ^ distance)
            total = total + received if adds else received
        return finish(total, tensor)

    return all_reduce


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("distances", [powers, lambda ranks: powers(ranks)[::-1]])
def test_doubling_passes_in_any_order_of_distances(distances, seed):
    seen = observe(butterfly(distances), butterfly_cases(seed), **REFUSED)
    assert judge_butterfly_sums(seen, seed).is_passed
    assert judge_butterfly_rounds(seen, seed).measured.startswith("3 rounds on 8 ranks")


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("code", "collective"),
    [
        ("nothing_sent", lambda tensor, *_: tensor.clone()),
        ("last_round_missing", butterfly(lambda ranks: powers(ranks)[:-1])),
        ("first_round_missing", butterfly(lambda ranks: powers(ranks)[1:])),
        ("rounds_missing", butterfly(lambda ranks: [1])),
        ("round_too_many", butterfly(lambda ranks: [*powers(ranks), 1])),
        ("round_too_many", butterfly(lambda ranks: list(range(1, ranks)))),
        ("nothing_sent_on_two", butterfly(lambda ranks: powers(ranks) if ranks > 2 else [])),
        ("own_sum_doubled", lambda *a: doubled(*a)),
        ("own_tensor_sent", butterfly(sends_own=True)),
        ("overwritten", butterfly(adds=False)),
        ("own_tensor_returned", butterfly(finish=lambda total, tensor: tensor.clone())),
        ("mean_for_sum", butterfly(finish=lambda total, tensor: total / 8)),
        ("scaled", butterfly(finish=lambda total, tensor: 2 * total)),
        ("input_changed", butterfly(finish=lambda total, tensor: tensor.copy_(total))),
    ],
)
def test_wrong_sums_are_named(code, collective, seed):
    seen = observe(collective, butterfly_cases(seed), **REFUSED)
    assert judge_butterfly_sums(seen, seed).code == judge_butterfly_rounds(seen, seed).code == code


def doubled(tensor, rank, world_size, send, receive):
    total = tensor.clone()
    for distance in powers(world_size):
        send(total, rank ^ distance)
        total += total
        receive(rank ^ distance)
    return total


def shifted(tensor, rank, world_size, send, receive):
    total = tensor.clone()
    for distance in powers(world_size):
        send(total, (rank + distance) % world_size)
        total = total + receive((rank - distance) % world_size)
    return total


def in_turns(tensor, rank, world_size, send, receive):
    total = tensor.clone()
    for distance in powers(world_size):
        if rank < rank ^ distance:
            send(total, rank ^ distance)
            total = total + receive(rank ^ distance)
        else:
            received = receive(rank ^ distance)
            send(total, rank ^ distance)
            total = total + received
    return total


def in_bfloat16(tensor, rank, world_size, send, receive):
    def send_half(value, destination):
        send(value.bfloat16(), destination)

    return butterfly()(tensor, rank, world_size, send_half, lambda source: receive(source).to(tensor.dtype))


def mesh(tensor, rank, world_size, send, receive):
    others = [other for other in range(world_size) if other != rank]
    for other in others:
        send(tensor, other)
    return torch.stack([tensor if r == rank else receive(r) for r in range(world_size)]).sum(0)


def repeated(tensor, rank, world_size, send, receive):
    def send_twice(value, destination):
        send(value, destination)
        send(value, destination)

    return butterfly()(tensor, rank, world_size, send_twice, receive)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("code", "collective"),
    [
        ("partners_not_mutual", shifted),
        ("one_after_the_other", in_turns),
        ("everybody_to_everybody", mesh),
        ("message_repeated", repeated),
    ],
)
def test_right_sums_by_other_messages_are_named(code, collective, seed):
    assert judge_butterfly_rounds(observe(collective, butterfly_cases(seed), **REFUSED), seed).code == code


@pytest.mark.parametrize("seed", SEEDS)
def test_sums_that_differ_in_their_last_bits_are_told(seed):
    verdict = judge_butterfly_sums(observe(shifted, butterfly_cases(seed)), seed)
    assert verdict.code == "partners_not_mutual" and verdict.expected == "the same bits on every rank"


@pytest.mark.parametrize("seed", SEEDS)
def test_messages_in_a_shorter_format_are_told(seed):
    assert judge_butterfly_sums(observe(in_bfloat16, butterfly_cases(seed)), seed).code == "message_of_other_size"


@pytest.mark.parametrize(
    ("code", "refused"),
    [
        ("refused_in_silence", [{"error": "", "named": None, "messages": 0}] * 3),
        ("refused_by_other_error", [{"error": "AssertionError", "named": None, "messages": 0}] * 3),
        ("other_ranks_not_refused", [{"error": "", "named": None, "messages": 2}] * 3),
        ("other_ranks_not_refused", [{"error": "", "named": 3, "messages": 1}] * 3),
        ("refused_on_some_ranks", [REFUSED["refused"][0]] + [{"error": "", "named": 3, "messages": 1}] * 2),
        ("other_ranks_not_refused", []),
        ("refused_too_late", [{"error": "ValueError", "named": None, "messages": 1}] * 3),
    ],
)
def test_three_ranks_have_to_be_refused(code, refused):
    seen = observe(butterfly(), butterfly_cases(0), refused=refused)
    assert judge_butterfly_rounds(seen, 0).code == code


def test_calls_of_the_library_are_told():
    seen = observe(butterfly(), butterfly_cases(0))
    for called, code in ((["all_reduce"], "library_collective"), (["recv", "send"], "library_messages")):
        settings = [[rank | {"collectives": called} for rank in ranks] for ranks in seen.facts["settings"]]
        assert judge_butterfly_sums(Observation({"settings": settings}, seen.tensors), 0).code == code


def test_digits_say_who_is_missing_and_who_is_there_twice():
    assert digits_of(float(0x1021), 4) == [1, 2, 0, 1]
    assert explain_digits([1, 2, 0, 1]) == "rank 2 missing, rank 1 counted twice"
    assert digits_of(0.5, 4) is digits_of(float(16**4), 4) is digits_of(float("nan"), 4) is None
    assert (say_count(float(0x1111)), say_count(1092.25)) == ("0x1111", "1092.25")

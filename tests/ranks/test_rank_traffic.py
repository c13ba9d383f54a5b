"""Rounds and times by the model, against what is known in closed form."""

from __future__ import annotations

import pytest

from grader.ranks.traffic import Traffic, count_rounds, predict_seconds

BYTES = 1024


def ring(world_size: int) -> list[Traffic]:
    events = [
        [
            step
            for _ in range(2 * (world_size - 1))
            for step in (("send", (rank + 1) % world_size), ("receive", (rank - 1) % world_size))
        ]
        for rank in range(world_size)
    ]
    return [Traffic(tuple((kind, peer, BYTES // world_size) for kind, peer in one)) for one in events]


def through_a_root(world_size: int) -> list[Traffic]:
    others = range(1, world_size)
    root = [("receive", rank, BYTES) for rank in others] + [("send", rank, BYTES) for rank in others]
    return [Traffic(tuple(root)), *(Traffic((("send", 0, BYTES), ("receive", 0, BYTES))) for _ in others)]


def recursive_doubling(world_size: int) -> list[Traffic]:
    distances = [1 << bit for bit in range(world_size.bit_length() - 1)]
    return [
        Traffic(tuple((kind, rank ^ distance, BYTES) for distance in distances for kind in ("send", "receive")))
        for rank in range(world_size)
    ]


@pytest.mark.parametrize(("runs", "rounds"), [(through_a_root, 14), (recursive_doubling, 3), (ring, 14)])
def test_rounds_of_eight_ranks(runs, rounds: int) -> None:
    assert count_rounds(runs(8)) == rounds


def test_the_model_adds_latency_and_bytes() -> None:
    seconds = predict_seconds(ring(8), latency_seconds=1e-3, bytes_per_second=1e6)
    assert seconds == pytest.approx(14 * (1e-3 + BYTES / 8 / 1e6))
    seconds = predict_seconds(recursive_doubling(8), latency_seconds=1e-3, bytes_per_second=1e6)
    assert seconds == pytest.approx(3 * (1e-3 + BYTES / 1e6))


def test_bytes_are_those_of_each_rank() -> None:
    first = ring(8)[0]
    assert (first.sent_messages, first.sent_bytes, first.received_bytes) == (14, 14 * 128, 14 * 128)
    assert through_a_root(8)[0].sent_bytes == 7 * BYTES


def test_a_sender_does_not_wait() -> None:
    both_ways = [Traffic((("send", 1, 8), ("receive", 1, 8))), Traffic((("send", 0, 8), ("receive", 0, 8)))]
    assert count_rounds(both_ways) == 1
    assert count_rounds([Traffic(), Traffic()]) == 0


def test_what_nobody_sent_is_named() -> None:
    with pytest.raises(ValueError, match="rank 1 receives a message of rank 0 that was never sent"):
        count_rounds([Traffic(), Traffic((("receive", 0, 8),))])

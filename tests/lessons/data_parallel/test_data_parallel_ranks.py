"""What the checks of lesson 15 see on real ranks."""

from __future__ import annotations

import linecache
import time
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from grader.judging.lessons.data_parallel.calls import all_reduces_of
from grader.lessons.data_parallel import rank_failures
from grader.lessons.data_parallel.agreement_records import salt_hash, varying_bits
from grader.lessons.data_parallel.checks import check_synchronised_gradients
from grader.observing.rank_records import defer_asynchronous_calls, record_rank_training
from grader.ranks.connection import end_server
from grader.ranks.errors import RankError
from grader.ranks.run import launch_ranks

SHAPES, LIMITS = ((24, 16), (40, 24), (8, 40), (16, 8)), (600, 1536, 5000, 20_000)
CELL = """
def run_buckets():
    for limit_bytes in LIMITS:
        model = nn.Sequential(*(nn.Linear(inputs, outputs, bias=False) for outputs, inputs in SHAPES))
        wrapped = DistributedDataParallel(model, bucket_cap_mb=limit_bytes / 2**20)
        for _ in range(2):
            wrapped(torch.randn(4, 16)).sum().backward()
        dist.all_reduce(torch.ones(1))

def never_wait():
    first, second = torch.ones(1), torch.ones(1)
    with defer_asynchronous_calls() as started:
        dist.all_reduce(first, async_op=True).wait()
        dist.all_reduce(second, async_op=True)
    return [first.item(), second.item(), sum(one.is_waited for one in started)]

def wait_alone(rank):
    rank_failures.WAIT_SECONDS = 2
    with rank_failures.end_lonely_waits():
        if rank == 0:
            dist.all_reduce(torch.ones(1))
        else:
            time.sleep(0.5)  # of two waits that end at once, either may be reported

def refuse(model, bucket_bytes):
    raise ValueError("a bad model")
"""


@pytest.fixture
def cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The functions above, as a cell of a notebook defines them."""
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"__name__": "__main__", "torch": torch, "nn": nn, "dist": dist}
    namespace |= {"DistributedDataParallel": DistributedDataParallel, "SHAPES": SHAPES, "LIMITS": LIMITS}
    namespace |= {"defer_asynchronous_calls": defer_asynchronous_calls, "record_rank_training": record_rank_training}
    namespace |= {"rank_failures": rank_failures, "time": time}
    linecache.cache["<ranks>"] = (len(CELL), None, CELL.splitlines(keepends=True), "<ranks>")
    exec(compile(CELL, "<ranks>", "exec", dont_inherit=True), namespace)
    return namespace


@pytest.fixture(scope="module", autouse=True)
def _no_process_stays() -> Any:
    yield
    end_server()


def test_buckets_close_as_the_judge_says(cell) -> None:
    parameters = [torch.empty(shape, requires_grad=True) for shape in SHAPES]
    events = launch_ranks(cell["run_buckets"], 2, {}).traffic[0].events
    calls = iter([byte_count for kind, _, byte_count in events if kind == "all_reduce"])
    for limit_bytes in LIMITS:
        first, *later = iter(calls.__next__, 4)  # the all-reduce of 4 bytes ends a model
        assert first == sum(later)
        assert {"all-reduces": len(later), "bytes": sum(later)} == all_reduces_of(parameters, limit_bytes, 1, "nowhere")


def test_an_all_reduce_that_nobody_waits_for_changes_nothing(cell) -> None:
    assert launch_ranks(cell["never_wait"], 2, {}).returned == [[2.0, 1.0, 1]] * 2


def test_a_rank_that_waits_alone_is_named_with_its_line(cell) -> None:
    with pytest.raises(RankError) as caught:
        launch_ranks(cell["wait_alone"], 2, {})
    first = caught.value.failures[0]
    assert (first.rank, first.error_name) == (0, "CollectiveNeverEnded")
    assert first.line == "dist.all_reduce(torch.ones(1))"


def test_a_hash_of_texts_differs_between_ranks_and_one_of_numbers_does_not() -> None:
    hashes = []
    for rank in range(2):
        space: dict[str, Any] = {}
        exec("def digest(value):\n    return hash(value)", space)
        salted = salt_hash(space["digest"], rank)
        hashes.append([space["digest"](value) for value in ("a", (1, b"a"), (1, 2.5), None)])
        assert salted == ["str", "tuple"]
    assert [one == other for one, other in zip(*hashes, strict=True)] == [False, False, True, True]
    assert salt_hash(len, 0) == []


def test_bits_that_vary_are_counted_in_the_widest_collective() -> None:
    assert varying_bits([[b"\x00\x00", b"\xff"], [b"\x03\x00", b"\x0f"]]) == 4
    assert varying_bits([[b"ab"], [b"ab", b"c"]]) == varying_bits([[], []]) == varying_bits([]) == 0


def test_an_exception_in_a_rank_fails_the_check(cell) -> None:
    with pytest.raises(AssertionError) as caught:
        check_synchronised_gradients(cell["refuse"])
    assert caught.value.code == "raised_value_error" and "a bad model" in caught.value.measured

"""What the checks of lesson 15 see on real ranks."""

from __future__ import annotations

import linecache
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from grader.checks.data_parallel import check_synchronised_gradients
from grader.checks.rank_records import defer_asynchronous_calls
from grader.judges.data_parallel.calls import _closed_when_full
from grader.ranks.connection import end_server
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

def refuse(model):
    raise ValueError("a bad model")
"""


@pytest.fixture
def cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The functions above, as a cell of a notebook defines them."""
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"__name__": "__main__", "torch": torch, "nn": nn, "dist": dist}
    namespace |= {"DistributedDataParallel": DistributedDataParallel, "SHAPES": SHAPES, "LIMITS": LIMITS}
    namespace["defer_asynchronous_calls"] = defer_asynchronous_calls
    linecache.cache["<ranks>"] = (len(CELL), None, CELL.splitlines(keepends=True), "<ranks>")
    exec(compile(CELL, "<ranks>", "exec", dont_inherit=True), namespace)
    return namespace


@pytest.fixture(scope="module", autouse=True)
def _no_process_stays() -> Any:
    yield
    end_server()


def test_buckets_close_as_the_judge_says(cell) -> None:
    sizes = [4 * outputs * inputs for outputs, inputs in SHAPES]
    events = launch_ranks(cell["run_buckets"], 2, {}).traffic[0].events
    calls = iter([byte_count for kind, _, byte_count in events if kind == "all_reduce"])
    for limit_bytes in LIMITS:
        first, *later = iter(calls.__next__, 4)  # the all-reduce of 4 bytes ends a model
        assert first == sum(later) == sum(sizes)
        assert len(later) == _closed_when_full(sizes[::-1], limit_bytes)


def test_an_all_reduce_that_nobody_waits_for_changes_nothing(cell) -> None:
    assert launch_ranks(cell["never_wait"], 2, {}).returned == [[2.0, 1.0, 1]] * 2


def test_an_exception_in_a_rank_is_told_in_three_lines(cell) -> None:
    with pytest.raises(AssertionError) as caught:
        check_synchronised_gradients(cell["refuse"])
    assert caught.value.code == "raised_value_error" and "a bad model" in caught.value.measured

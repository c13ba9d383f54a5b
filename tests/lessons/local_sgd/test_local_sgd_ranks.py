"""What the checks of lesson 16 see on real ranks."""

from __future__ import annotations

import linecache
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import nn

from grader.lessons.local_sgd.checks import _explain_known, check_averaged_parameters, check_local_sgd_updates
from grader.lessons.local_sgd.epoch_records import record_epoch
from grader.ranks.connection import end_server
from grader.ranks.run import launch_ranks
from grader.verdict import CheckFailed, Verdict

CELL = """
def place_calls():
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with record_epoch(model) as record:
        for _ in range(2):
            model(torch.randn(4, 2)).sum().backward()
            dist.all_reduce(torch.ones(2))
        optimizer.step()
        dist.broadcast(torch.ones(1), src=0)
    return record.report()

def watch_autograd(model):
    for parameter in model.parameters():
        dist.all_reduce(parameter)
        parameter /= dist.get_world_size()

def divide_counters(model):
    for tensor in model.buffers():
        dist.all_reduce(tensor)
        tensor /= dist.get_world_size()

@torch.no_grad()
def decorated(model):
    for tensor in [*model.parameters(), *model.buffers()]:
        if tensor.requires_grad or tensor.is_floating_point() and not isinstance(tensor, nn.Parameter):
            dist.all_reduce(tensor)
            tensor /= dist.get_world_size()
    return model

def print_and_stop(model, optimizer, micro_batches, k, every, average, rank, world_size):
    print("nothing is trained")
"""


@pytest.fixture
def cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The functions above, as a cell of a notebook defines them."""
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"__name__": "__main__", "torch": torch, "nn": nn, "dist": dist}
    namespace |= {"record_epoch": record_epoch}
    linecache.cache["<ranks>"] = (len(CELL), None, CELL.splitlines(keepends=True), "<ranks>")
    exec(compile(CELL, "<ranks>", "exec", dont_inherit=True), namespace)
    return namespace


@pytest.fixture(scope="module", autouse=True)
def _no_process_stays() -> Any:
    yield
    end_server()


def test_collectives_are_placed_between_forwards_and_updates(cell) -> None:
    for report in launch_ranks(cell["place_calls"], 2, {}).returned:
        facts, tensors = report["facts"], report["tensors"]
        assert facts["calls"] == [["all_reduce", 8, 1, 0], ["all_reduce", 8, 2, 0], ["broadcast", 4, 2, 1]]
        assert facts["counts"] == [2] and tensors["statistics"].shape == (4,)
        assert {"gradient.0", "weights.0", "weights.1"} <= set(tensors)


@pytest.mark.parametrize(
    ("name", "code"), [("watch_autograd", "averaged_outside_no_grad"), ("divide_counters", "integer_buffer_divided")]
)
def test_errors_that_an_average_invites_are_named(cell, name: str, code: str) -> None:
    with pytest.raises(AssertionError) as caught:
        check_averaged_parameters(cell[name])
    assert caught.value.code == code and f"of {name}: " in caught.value.look_at


def test_a_decorated_average_passes(cell) -> None:
    check_averaged_parameters(cell["decorated"])


def test_a_loop_that_does_nothing_is_named(cell, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(AssertionError) as caught:
        check_local_sgd_updates(cell["print_and_stop"])
    assert caught.value.code == "no_forward"
    assert "nothing is trained" not in capsys.readouterr().out


def test_ranks_that_disagree_in_their_collectives_are_named() -> None:
    measured = "rank 1: its process died of SIGABRT. Is there a distributed collective mismatch in your code?"
    failure = CheckFailed(Verdict("rank_died", "train_local_sgd to return", measured, "what ends a process"))
    with pytest.raises(AssertionError) as caught:
        _explain_known(failure)
    assert caught.value.code == "collectives_disagree" and caught.value.measured.startswith("rank 1: ")

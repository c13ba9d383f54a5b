"""A function on several real processes: what comes back, what goes wrong, and that nothing stays."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from rank_processes import is_running, ranks_of
from torch import nn

import grader
from grader.ranks.connection import rank_server
from grader.ranks.errors import RankError
from grader.ranks.run import run_ranks

PASS_ON = """
def pass_on(tensor, rank, world_size, send, receive):
    total = tensor.clone()
    for _ in range(world_size - 1):
        send(tensor, (rank + 1) % world_size)
        tensor = receive((rank - 1) % world_size)
        total += tensor
    return total

def add_up(rank, world_size, send, receive, reduce, size):
    print("begins with", 16**rank)
    return reduce(torch.full((size,), 16.0**rank), rank, world_size, send, receive)
"""


def test_each_rank_returns_and_its_messages_are_counted(define, capsys: pytest.CaptureFixture[str]) -> None:
    cell = define(PASS_ON, torch=torch)
    run = run_ranks(cell["add_up"], 4, reduce=cell["pass_on"], size=1000)
    assert [tensor.tolist() for tensor in run.returned] == [[0x1111] * 1000] * 4
    assert [one.sent_bytes for one in run.traffic] == [12_000] * 4
    assert (run.rounds, run.traffic[0].unread_messages) == (3, 0)
    assert capsys.readouterr().out.splitlines()[2] == "rank 2 | begins with 256"
    assert "4 ranks" in repr(run) and "12,000 bytes" in repr(run)
    assert "def pass_on" in run.source.read_text() and run.source == Path.cwd() / "ranks" / "add_up.py"


def test_ranks_run_what_they_were_sent_whatever_stands_in_the_file(define) -> None:
    # of one size and within one second: what Python compiled of the first file would pass for the second
    runs = [run_ranks(define(f"def number():\n    return {number}")["number"], 1) for number in range(3)]
    assert [run.returned for run in runs] == [[0], [1], [2]]
    assert len({run.source for run in runs}) == 1
    assert not (runs[0].source.parent / "__pycache__").exists()


@pytest.mark.parametrize(
    "tensor",
    [torch.tensor(3), torch.zeros(0, 3), torch.arange(6).view(2, 3).t(), torch.ones(2, dtype=torch.bfloat16)],
    ids=["number", "empty", "transposed", "bf16"],
)
def test_a_message_keeps_shape_format_and_values(define, tensor: torch.Tensor) -> None:
    cell = define("def swap(rank, send, receive, tensor):\n    send(tensor, 1 - rank)\n    return receive(1 - rank)")
    for received in run_ranks(cell["swap"], 2, tensor=tensor).returned:
        assert received.dtype == tensor.dtype and torch.equal(received, tensor)


def test_what_is_sent_is_a_copy(define) -> None:
    source = """
def overwrite(rank, send, receive):
    tensor = torch.full((100_000,), float(rank))
    send(tensor, 1 - rank)
    tensor.fill_(9)
    return receive(1 - rank)
"""
    first, second = run_ranks(define(source, torch=torch)["overwrite"], 2).returned
    assert bool((first == 1).all()) and bool((second == 0).all())


def test_a_collection_in_a_rank_leaves_what_was_imported_alone(define) -> None:
    imported, own = run_ranks(
        define("def count():\n    return gc.get_freeze_count(), gc.get_count()[0]", gc=gc)["count"], 1
    ).returned[0]
    assert imported > 100 * own


def test_unread_messages_are_counted_and_do_not_reach_the_next_run(define) -> None:
    cell = define("def spill(rank, send):\n    if rank == 0:\n        send(torch.ones(3), 1)", torch=torch)
    run = run_ranks(cell["spill"], 2)
    assert [one.unread_messages for one in run.traffic] == [0, 1]


def test_collectives_are_counted_whoever_starts_them(define) -> None:
    source = """
def train(rank):
    torch.manual_seed(rank)
    model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(64, 64), nn.Linear(64, 64)), bucket_cap_mb=0.01)
    for _ in range(3):
        model(torch.randn(4, 64)).sum().backward()
    torch.distributed.all_reduce(torch.ones(5))
    return model.module[0].weight.grad
"""
    run = run_ranks(define(source, torch=torch, nn=nn)["train"], 2)
    events = [event for event in run.traffic[0].events if event[0] == "all_reduce"]
    assert events[-1] == ("all_reduce", -1, 20)  # those of DDP are its buckets, which it forms again after a backward
    assert sum(byte_count for _, _, byte_count in events[:-1]) == 3 * 4 * 2 * (64 * 64 + 64)
    assert torch.equal(*run.returned)


def test_a_rank_that_dies_while_it_reports_its_exception_is_named(define) -> None:
    source = """
def fail(rank):
    def die_half_way(path, text):
        with open(path, "w") as file:
            file.write(text[:1])
        os.kill(os.getpid(), signal.SIGTERM)

    Path.write_text = die_half_way
    raise ValueError("what nobody reads")
"""
    with pytest.raises(RankError, match="its process died of SIGTERM"):
        run_ranks(define(source, os=os, signal=signal, Path=Path)["fail"], 2)


@pytest.mark.parametrize("ends", ["raise ValueError(LIMIT)", "time.sleep(60)"])
def test_a_line_is_told_as_it_is_counted_where_it_was_written(define, ends: str) -> None:
    source = f"""
LIMIT, FIRST = 2, 0

class Chunk:
    def use(self):
        {ends}

def double(value):
    return 2 * value

def fail(rank):
    if rank == FIRST:
        return Chunk().use()
    return double(rank)
"""
    with pytest.raises(RankError) as caught:
        run_ranks(define(source, time=time)["fail"], 2, limit_seconds=3)
    first = caught.value.failures[0]
    assert (first.rank, first.function, first.line) == (0, "use", ends)
    assert source.splitlines()[first.line_number - 1].strip() == ends


def test_a_rank_that_raises_is_told_with_its_own_lines(define) -> None:
    source = (
        "def fail(rank, receive):\n    if rank == 2:\n        raise ValueError('a bad chunk')\n    return receive(2)"
    )
    started = time.monotonic()
    with pytest.raises(RankError) as caught:
        run_ranks(define(source)["fail"], 4)
    assert time.monotonic() - started < 8
    first, *others = caught.value.failures
    assert (first.rank, first.error_name, first.message, first.function) == (2, "ValueError", "a bad chunk", "fail")
    assert first.line == "raise ValueError('a bad chunk')" and first.began_there
    assert {failure.rank for failure in others} == {0, 1, 3}
    shown = "\n".join(caught.value._render_traceback_())
    assert "ranks/fail.py" in shown and "grader/ranks" not in shown
    assert not ranks_of(rank_server()._process.pid)


def test_a_rank_that_never_ends_is_ended_and_its_line_told(define) -> None:
    source = "def spin(rank, receive):\n    while rank == 1:\n        pass\n    return receive(1)"
    with pytest.raises(RankError, match="not all ranks ended within 2 s") as caught:
        run_ranks(define(source)["spin"], 3, limit_seconds=2)
    lines = {failure.rank: failure.line for failure in caught.value.failures}
    assert lines[0] == lines[2] == "return receive(1)" and lines[1] in ("while rank == 1:", "pass")
    assert caught.value.is_late and not ranks_of(rank_server()._process.pid)


def test_a_message_that_never_comes_ends_the_wait(define) -> None:
    source = "def wait(rank, receive):\n    return receive(1 - rank)"
    with pytest.raises(RankError) as caught:
        run_ranks(define(source)["wait"], 2, receive_seconds=1)
    assert caught.value.failures[0].error_name == "TimeoutError"
    assert "no message of rank" in caught.value.failures[0].message


def test_a_rank_that_dies_is_told(define) -> None:
    source = "def die(rank):\n    if rank == 1:\n        os.kill(os.getpid(), 9)"
    with pytest.raises(RankError, match="rank 1: its process died of SIGKILL"):
        run_ranks(define(source, os=os)["die"], 2)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ("send([1.0], 1 - rank)", "TypeError: send takes a tensor and a rank"),
        ("send(torch.ones(1), rank)", "ValueError: send on rank 0 names itself"),
        ("receive(7)", "ValueError: receive on rank 0 names rank 7: the other ranks are 0 to 1"),
        ("receive(torch.ones(1))", "TypeError: receive takes the number of a rank"),
        ("return nn.Linear(2, 2)", "TypeError: a rank returns tensors, numbers, texts"),
    ],
)
def test_wrong_calls_are_named(define, call: str, error: str) -> None:
    source = f"def wrong(rank, send, receive):\n    if rank == 0:\n        {call}"
    with pytest.raises(RankError) as caught:
        run_ranks(define(source, torch=torch, nn=nn)["wrong"], 2)
    assert str(caught.value.failures[0]).startswith(f"rank 0: {error}")


def test_what_cannot_go_to_another_process_is_named_before_anything_runs(define) -> None:
    cell = define("def use(rank):\n    return weights", weights=torch.ones(3))
    with pytest.raises(TypeError, match="use uses 'weights', a Tensor of the notebook"):
        run_ranks(cell["use"], 2)
    with pytest.raises(TypeError, match=r"model \(Linear\)"):
        run_ranks(define("def take(rank, model):\n    pass")["take"], 2, model=nn.Linear(2, 2))
    with pytest.raises(ValueError, match="1 to 16 ranks"):
        run_ranks(cell["use"], 17)


def test_an_interrupted_run_leaves_no_process(define) -> None:
    pid = rank_server()._process.pid
    cell = define("def sleep(rank):\n    time.sleep(30)", time=time)
    previous = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 1.0)
    try:
        with pytest.raises(KeyboardInterrupt):
            run_ranks(cell["sleep"], 2)
    finally:
        signal.signal(signal.SIGALRM, previous)
    assert not is_running(pid) and not ranks_of(pid)


def test_a_kernel_that_is_killed_leaves_no_process(tmp_path: Path) -> None:
    script = tmp_path / "kernel.py"
    script.write_text(
        "import time\nfrom grader.ranks.connection import rank_server\nfrom grader.ranks.run import run_ranks\n"
        "def sleep(rank):\n    time.sleep(60)\n"
        "print(rank_server()._process.pid, flush=True)\nrun_ranks(sleep, 2)\n"
    )
    environment = os.environ | {"PYTHONPATH": str(Path(grader.__file__).parents[1])}
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True, env=environment) as kernel:
        assert kernel.stdout
        pid = int(kernel.stdout.readline())
        deadline = time.monotonic() + 30
        while len(ranks := ranks_of(pid)) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        kernel.kill()
    assert len(ranks) == 2
    while any(map(is_running, [pid, *ranks])) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(is_running, [pid, *ranks]))

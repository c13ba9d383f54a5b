"""Lesson 14 rejects malformed answers in three lines; on real ranks."""

from __future__ import annotations

import linecache

import pytest
import torch

import grader
from grader.ranks.connection import end_server
from grader.verdict import CheckFailed, NotSolvedYet

HEAD = "def collective(tensor, rank, world_size, send, receive):\n    "
RING = """total = tensor.clone()
    chunks = total.view(-1).tensor_split(world_size)
    for step in range(2 * (world_size - 1)):
        send(chunks[(rank - step) % world_size], (rank + 1) % world_size)
        received, place = receive((rank - 1) % world_size), chunks[(rank - step - 1) % world_size]
        place.copy_(received if step >= world_size - 1 else place + received)
    """


@pytest.fixture(autouse=True)
def _no_attempts(monkeypatch, tmp_path):
    monkeypatch.setenv("LEAN_TRAINING_ATTEMPTS", "off")
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module", autouse=True)
def _no_process_stays():
    yield
    end_server()


def answer(body: str, **names):
    """Define a function as a cell of a notebook does."""
    source, filename = HEAD + body, f"<answer {len(linecache.cache)}>"
    namespace = {"__name__": "__main__", "torch": torch, **names}
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    exec(compile(source, filename, "exec", dont_inherit=True), namespace)
    return namespace["collective"]


def failure_of(function, check: str = "check_ring_sums") -> CheckFailed:
    with pytest.raises(CheckFailed) as failure:
        getattr(grader, check)(function)
    assert len(failure.value.lines()) in (1, 3)
    return failure.value


@pytest.mark.parametrize(
    ("code", "body"),
    [
        ("returned_none", "pass"),
        ("wrong_type", "return [tensor]"),
        ("wrong_dtype", RING + "return total.int()"),
        ("wrong_shape", RING + "return total.unsqueeze(0)"),
        ("not_finite", RING + "return total / 0"),
        ("raised_type_error", "send(None, 1 - rank % 2)"),
        ("names_itself", "send(tensor, rank)"),
        ("names_no_rank", "send(tensor, rank + 1) if rank == 3 else None\n    return tensor"),
        ("raised_zero_division_error", "return 1 / 0 if rank == 2 else receive(2)"),
        ("rank_died", "import os\n    os.kill(os.getpid(), 9)"),
        ("raised_system_exit", "raise SystemExit"),
    ],
)
def test_a_malformed_answer_fails_in_three_lines(code, body):
    assert failure_of(answer(body)).code == code


def test_what_another_process_cannot_have_is_named():
    failure = failure_of(answer("return tensor + weights", weights=torch.ones(3)))
    assert failure.code == "not_for_ranks" and "'weights', a Tensor of the notebook" in failure.measured
    assert failure_of(lambda tensor, rank, world_size, send, receive: tensor).code == "not_for_ranks"


def test_a_stub_fails_in_one_line():
    stub = answer("raise NotImplementedError()")
    assert isinstance(failure_of(stub), NotSolvedYet)
    assert isinstance(failure_of(stub, "check_butterfly_rounds"), NotSolvedYet)


def test_a_prediction_is_a_pair():
    assert (
        failure_of(lambda algorithm, world_size, tensor_bytes: None, "check_all_reduce_costs").code == "returned_none"
    )
    assert failure_of(lambda algorithm, world_size, tensor_bytes: 3, "check_all_reduce_costs").code == "no_pair"
    assert (
        failure_of(lambda algorithm, world_size, tensor_bytes: (3, "S"), "check_all_reduce_costs").code == "wrong_type"
    )


def test_a_later_launch_that_fails_names_its_ranks_and_elements():
    failure = failure_of(answer("assert tensor.numel() % world_size == 0, 'uneven'\n    " + RING + "return total"))
    assert failure.code == "raised_assertion_error"
    assert failure.measured.endswith("AssertionError: uneven, on 4 ranks with 14 or 45 elements")


POINT_TO_POINT = """
    dist = torch.distributed
    total, received = tensor.clone(), torch.empty_like(tensor)
    for bit in range(world_size.bit_length() - 1):
        other = rank ^ 2**bit
        {exchange}
        total += received
    return total"""


@pytest.mark.parametrize(
    "exchange",
    [
        "work = dist.isend(total.clone(), other); dist.recv(received, other); work.wait()",
        "[work.wait() for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, total.clone(), other), "
        "dist.P2POp(dist.irecv, received, other)])]",
    ],
)
def test_messages_of_the_library_are_refused(exchange):
    failure = failure_of(answer(POINT_TO_POINT.format(exchange=exchange)), "check_butterfly_sums")
    assert failure.code == "library_messages" and failure.measured == "calls of torch.distributed: ['recv', 'send']"


def test_send_takes_its_arguments_by_name():
    by_name = RING.replace("world_size], (rank + 1) % world_size)", "world_size], destination=(rank + 1) % world_size)")
    grader.check_ring_sums(answer(by_name.replace("send(chunks", "send(tensor=chunks") + "return total"))


def test_what_ranks_returned_is_written_whatever_it_is():
    from grader import say_counts

    assert say_counts([torch.tensor([0x11, 0x12]), torch.tensor([0x11])]) == "0x11, 0x12"
    assert say_counts([torch.tensor([0.5, torch.inf])]) == "0.5, inf"
    assert say_counts([torch.tensor([torch.nan]), torch.tensor(True)]) == "nan, 0x1"
    assert say_counts([None, [torch.ones(1)], torch.ones(1, dtype=torch.complex64)]) == "NoneType, list, Tensor"
    assert say_counts([torch.arange(9)]) == "0x0, 0x1, 0x2, 0x3, 0x4, 0x5, ..."
    assert say_counts([torch.ones(0)]) == ""


@pytest.mark.parametrize("body", ["pass", "yield tensor", "return tensor.numpy()", "return send", "return {1: tensor}"])
def test_a_demonstration_survives_any_answer(body, capsys):
    from grader import look_at_ranks, say_counts

    run = look_at_ranks(twice, 2, collective=answer(body))
    assert run is None or say_counts(run.returned) in ("NoneType", "dict")
    assert run or "TypeError" in capsys.readouterr().out


def twice(rank, world_size, send, receive, collective):
    collective(torch.ones(2), rank, world_size, send, receive)
    return collective(torch.ones(2), rank, world_size, send, receive)


def test_look_at_ranks_never_stops_and_shows_what_was_printed(capsys):
    from grader import look_at_ranks

    def outer(rank, world_size, send, receive, collective):
        return collective(None, rank, world_size, send, receive)

    assert look_at_ranks(outer, 2, collective=answer("raise NotImplementedError()")) is None
    assert capsys.readouterr().out.startswith("not solved yet: collective.")
    assert look_at_ranks(outer, 2, collective=answer("print('here')\n    raise ValueError('no')")) is None
    shown = capsys.readouterr().out
    assert "| here" in shown and "ValueError: no" in shown
    assert look_at_ranks(outer, 2, collective=answer("return weights", weights=torch.ones(1))) is None
    assert "a Tensor of the notebook" in capsys.readouterr().out
    assert look_at_ranks(outer, 2, collective=answer("print(rank)\n    return rank")).returned == [0, 1]
    assert capsys.readouterr().out == "rank 0 | 0\nrank 1 | 1\n"

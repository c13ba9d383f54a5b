"""A claimed peak is accepted only if the kernel grew no further than it says."""

from __future__ import annotations

import json
import os
import socket
import sys

import nbformat
import pytest
from judged_lesson import SEED
from small_course import code

from grader.channel import BEGIN, END, KERNEL, STEPS_VARIABLE
from grader.classroom.jobs.seeds import kernel_environment
from grader.classroom.judging.claims import Claim, claims_fault, smallness_fault
from grader.classroom.running.execution import Limits
from grader.classroom.running.step_signals import StepSignals
from grader.classroom.running.worker_process import run_apart
from grader.units import MIB

RUNS = 20
MEASURE = f"""\
import json
import torch
from torch.utils.checkpoint import checkpoint_sequential
from grader.observing.claims import measure_claimed_peak
from grader.testbed.chain import make_chain

def above_entry(is_checkpointed):
    model, inputs = make_chain(12, 64, 256), torch.randn(2560, 64)
    def step():
        model.zero_grad()
        out = checkpoint_sequential(model, 2, inputs, use_reentrant=False) if is_checkpointed else model(inputs)
        out.square().mean().backward()
    return [measure_claimed_peak(step, model=model, inputs=inputs).above_entry_bytes for _ in range({RUNS})]"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="steps are watched from outside on Linux")
@pytest.mark.parametrize("is_forked", [True, False])
def test_the_bound_separates_plain_from_checkpointed_in_every_run(is_forked: bool) -> None:
    cells = [code(MEASURE), *(code(f"print(json.dumps(above_entry({case})))", case, points=1) for case in ("0", "1"))]
    kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernelspec})
    environment = kernel_environment(os.environ, SEED)
    run = run_apart(nbformat.writes(notebook), Limits(), environment, {}, "python3", is_forked=is_forked)
    plain, checkpointed = (json.loads(run.cells[index].outputs[0]["text"]) for index in (1, 2))
    assert min(plain) > 1.7 * max(checkpointed)
    for index, claimed in ((1, plain), (2, checkpointed)):
        steps = run.cells[index].steps
        assert steps is not None
        assert claims_fault([Claim(size, "cpu") for size in claimed], steps) == ("", [])
    forged = [fault_of(size, grown) for size, grown in zip(checkpointed, grown_of(run, 1), strict=True)]
    assert all("the kernel grew by" in fault for fault in forged)


def grown_of(run, index: int) -> list[int]:
    return run.cells[index].steps["grown_bytes"]


def fault_of(claimed: int, grown: int | None, device: str = "cpu") -> str:
    return claims_fault([Claim(claimed, device)], {"grown_bytes": [grown], "strays": 0})[0]


def test_a_small_claim_has_four_mebibytes_of_slack_and_a_large_one_a_tenth() -> None:
    assert not fault_of(2 * MIB, 6 * MIB)
    assert fault_of(2 * MIB, 6 * MIB + 1)
    assert not fault_of(100 * MIB, 110 * MIB)
    assert fault_of(100 * MIB, 111 * MIB)


def test_a_step_that_was_announced_around_nothing_is_seen() -> None:
    assert not fault_of(100 * MIB, 49 * MIB)
    assert fault_of(100 * MIB, 49 * MIB - 1)
    assert not fault_of(2 * MIB, 0)  # too small to be distinguished from what Python allocates anyhow


def test_a_peak_below_what_the_case_needs_cannot_pass() -> None:
    assert "2 bytes" in smallness_fault([Claim(7 * MIB, "cpu"), Claim(2, "cpu")])
    assert "needs 1.0 MiB" in smallness_fault([Claim(7 * MIB, "cpu", MIB), Claim(MIB - 1, "cpu", MIB)])
    assert smallness_fault([Claim(7 * MIB, "cpu")]) == smallness_fault([Claim(MIB, "cpu", MIB)]) == ""
    assert smallness_fault([]) == ""


def test_every_claim_needs_its_step_and_every_step_its_claim() -> None:
    claim = Claim(MIB, "cpu")
    assert claims_fault([claim], {"grown_bytes": [], "strays": 0})[0]
    assert claims_fault([], {"grown_bytes": [MIB], "strays": 0})[0]
    assert claims_fault([claim], {"grown_bytes": [MIB], "strays": 1})[0]
    assert claims_fault([], {"grown_bytes": [], "strays": 0}) == ("", [])


def test_what_cannot_be_seen_from_outside_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    note = ["its peak memory was not verified from outside"]
    assert claims_fault([Claim(MIB, "cpu")], None) == ("", note)
    assert claims_fault([], None) == ("", [])
    assert claims_fault([Claim(MIB, "cpu")], {"grown_bytes": [None], "strays": 0}) == ("", note)
    monkeypatch.setattr("grader.classroom.judging.claims.has_gpu", lambda: True)
    assert claims_fault([Claim(MIB, "cuda")], {"grown_bytes": [0], "strays": 0}) == ("", note)


def test_a_cuda_device_cannot_be_claimed_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader.classroom.judging.claims.has_gpu", lambda: False)
    assert "on a machine without one" in fault_of(MIB, 0, device="cuda")


class Memory:
    """A process whose memory is read as 10 bytes at the beginning and 15 at the peak, until it hides."""

    is_hidden = False

    def begin(self, process: int) -> int | None:
        return None if self.is_hidden else 10

    def peak_bytes(self, process: int) -> int | None:
        return None if self.is_hidden else 15


@pytest.mark.skipif(not hasattr(socket, "SO_PASSCRED"), reason="signals carry their sender on Linux")
def test_a_kernel_that_hides_its_memory_later_on_is_seen_and_one_that_always_did_is_not_blamed() -> None:
    for is_hidden_before, strays in ((False, 1), (True, 0)):
        memory = Memory()
        signals = StepSignals(memory)
        memory.is_hidden = is_hidden_before
        signals.await_kernel()
        signals.theirs.send(KERNEL)
        signals.end_introduction()
        memory.is_hidden = True
        signals.theirs.send(BEGIN)
        signals.theirs.send(END)
        assert signals.take() == {"grown_bytes": [None], "strays": strays}
        memory.is_hidden = False
        for signal in (BEGIN, END, KERNEL, BEGIN):
            signals.theirs.send(signal)
        assert signals.take() == {"grown_bytes": [5], "strays": 2}
        signals.close()


def test_without_a_runner_a_claimed_peak_is_measured_as_any(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    from grader.meters.measurement import measure_peak_memory
    from grader.observing.claims import measure_claimed_peak

    monkeypatch.delenv(STEPS_VARIABLE, raising=False)
    weight = torch.nn.Linear(64, 64)

    def step() -> None:
        weight.zero_grad()
        weight(torch.ones(8, 64)).sum().backward()

    assert measure_claimed_peak(step, model=weight) == measure_peak_memory(step, model=weight)


def test_a_compiled_step_is_refused_on_the_cpu_also_where_it_is_claimed() -> None:
    import torch

    from grader.observing.claims import measure_claimed_peak

    compiled = torch.compile(lambda: None, backend="eager")

    def step() -> None:
        compiled()

    with pytest.raises(ValueError, match="compiled"):
        measure_claimed_peak(step)

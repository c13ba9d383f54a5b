"""The references agree with PyTorch's counter, and no trace is near a limit of the contract."""

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.checkpoint import checkpoint, set_checkpoint_early_stop
from torch.utils.flop_counter import FlopCounterMode

import grader
from grader.judging.lessons.where_time_goes.steps import step_flops
from grader.judging.lessons.where_time_goes.traces import common_time, diagnose, find_gaps
from grader.judging.lessons.where_time_goes.utilization import utilization
from grader.lessons.where_time_goes.steps import step_cases
from grader.lessons.where_time_goes.traces import recorded_traces, trace_cases
from grader.lessons.where_time_goes.utilization import published_runs
from grader.testbed.transformer import make_transformer
from grader.verdict import CheckFailed


def count(case):
    model = make_transformer(case.layers, case.width, case.heads, vocabulary=case.vocabulary, context=case.time)
    model = model.to("meta")
    if case.is_checkpointed:
        for block in model.blocks:
            block.forward = lambda states, forward=block.forward: checkpoint(forward, states, use_reentrant=False)
    tokens = torch.zeros(case.batch, case.time, dtype=torch.long, device="meta")
    counter = FlopCounterMode(display=False)
    with sdpa_kernel(SDPBackend.MATH), counter, set_checkpoint_early_stop(False):
        model(tokens).sum().backward()
    return counter.get_total_flops()


@pytest.mark.parametrize("seed", range(4))
def test_the_reference_counts_what_pytorch_counts(seed):
    for case in step_cases(seed):
        assert step_flops(*case.arguments) == count(case)


def test_the_counter_is_refused_while_flops_are_predicted():
    def counted(*arguments):
        with FlopCounterMode(display=False) as counter:
            torch.ones(2, 2) @ torch.ones(2, 2)
        return counter.get_total_flops()

    with pytest.raises(CheckFailed) as failure:
        grader.check_step_flops.__wrapped__(counted, 0)
    assert failure.value.code == "flops_counted"
    assert counted() == 16


@pytest.mark.parametrize("seed", range(20))
def test_no_trace_is_near_a_limit(seed):
    found = []
    for case in trace_cases(seed):
        events = case.events()
        start = next(event["ts"] for event in events if event["name"] == "ProfilerStep#1")
        kernels = [event for event in events if event["cat"] == "kernel" and event["ts"] >= start]
        before = [event for event in events if event["cat"] == "kernel" and event["ts"] < start]
        assert all(kernel["ts"] + kernel["dur"] < start for kernel in before)
        window = max(kernel["ts"] + kernel["dur"] for kernel in kernels) - start
        gaps = find_gaps(kernels, start)
        idle = sum(stop - begin for begin, stop in gaps)
        assert not 0.28 < idle / window < 0.34
        loads = [event for event in events if "DataLoader" in event["name"]]
        loading = sum(common_time(load, gap) for load in loads for gap in gaps)
        assert idle / window < 0.3 or not 0.42 < loading / idle < 0.58
        sides = [sum(kernel["args"]["flops"] for kernel in kernels) / case.flops_per_second]
        sides.append(sum(kernel["args"]["bytes"] for kernel in kernels) / case.bytes_per_second)
        assert max(sides) > 1.1 * min(sides)
        found.append(diagnose(events, case.flops_per_second, case.bytes_per_second))
    assert sorted(found) == ["compute"] * 3 + ["data"] * 3 + ["launch"] * 3 + ["memory"] * 3


def test_the_notebook_shows_each_kind_once():
    kinds = {diagnose(trace.events, trace.flops_per_second, trace.bytes_per_second) for trace in recorded_traces()}
    assert kinds == {"compute", "data", "launch", "memory"}


def test_a_published_utilization_is_found_again():
    assert utilization(*published_runs(0)[0].arguments) == pytest.approx(0.462, abs=0.0005)

from __future__ import annotations

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack

from grader.lessons.where_memory_goes.watchers import record_watchers
from grader.meters.measurement import measure_peak_memory


class OwnMode(TorchDispatchMode):
    def __torch_dispatch__(self, operator, types, arguments=(), keywords=None):
        return operator(*arguments, **(keywords or {}))


def add() -> torch.Tensor:
    return torch.zeros(2) + 1


def test_a_mode_that_watches_the_step_is_recorded_by_module_and_class() -> None:
    with record_watchers(add) as (step, record), OwnMode():
        step()
    assert record == {"calls": 1, "watchers": [f"{__name__}.OwnMode"], "is_profiled": False, "is_left_on": False}


def test_nothing_is_recorded_where_nothing_watches() -> None:
    with record_watchers(add) as (step, record):
        assert torch.equal(step(), torch.ones(2))
    assert record == {"calls": 1, "watchers": [], "is_profiled": False, "is_left_on": False}


def test_a_meter_of_this_project_is_recorded() -> None:
    with record_watchers(add) as (step, record):
        measure_peak_memory(step, device="cpu")
    assert record["calls"] == 2
    assert "grader.meters.allocation.AllocationMeter" in record["watchers"]


def test_a_profiler_is_recorded() -> None:
    with record_watchers(add) as (step, record), torch.autograd.profiler.profile():
        step()
    assert record["is_profiled"]


def test_a_mode_that_is_left_on_is_ended_and_recorded() -> None:
    with record_watchers(add) as (_, record):
        OwnMode().__enter__()
    assert record["is_left_on"]
    assert _get_current_dispatch_mode_stack() == []


def test_a_mode_that_is_left_on_by_an_error_is_ended() -> None:
    with pytest.raises(ZeroDivisionError), record_watchers(add):
        OwnMode().__enter__()
        raise ZeroDivisionError
    assert _get_current_dispatch_mode_stack() == []


def test_modes_of_others_are_neither_recorded_nor_ended() -> None:
    with OwnMode() as outer:
        with record_watchers(add) as (step, record):
            step()
        assert _get_current_dispatch_mode_stack() == [outer]
    assert record["watchers"] == []

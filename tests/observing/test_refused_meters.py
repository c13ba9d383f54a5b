"""A prediction is computed: while it is asked for, no meter of the course measures it."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import grader
from grader import forecast_peak_memory, look_at_ranks, measure_peak_memory, measure_saved_tensors, run_ranks
from grader.verdict import CheckFailed

PEAKS = ("check_step_peak", "check_extrapolated_peak", "check_predicted_peak", "check_segment_peak")
RUNS = ("check_all_reduce_costs", "check_data_parallel_calls", "check_local_sgd_synchronisations")


def return_rank(rank: int) -> int:
    return rank


def measured(*_: Any) -> int:
    return measure_peak_memory(lambda: torch.ones(4)).peak_bytes


def forecast(*_: Any) -> int:
    return forecast_peak_memory(lambda: {"step": lambda: torch.ones(4)}).peak_bytes


def run_on_two(*_: Any) -> int:
    return run_ranks(return_rank, 2).rounds


def looked_at(*_: Any) -> int:
    run = look_at_ranks(return_rank, 2)
    return run.rounds if run else 0


def code_of(check: str, answer: Any) -> str:
    with pytest.raises(CheckFailed) as failure:
        getattr(grader, check).__wrapped__(answer, 0)
    return failure.value.code


@pytest.mark.parametrize("check", PEAKS)
def test_a_peak_to_predict_is_neither_measured_nor_forecast(check: str) -> None:
    assert code_of(check, measured) == "peak_measured"
    assert code_of(check, forecast) == "peak_forecast"
    assert measured() == 16 and forecast() == 16


@pytest.mark.parametrize("check", RUNS)
def test_messages_to_predict_are_not_counted_on_ranks(check: str) -> None:
    assert code_of(check, run_on_two) == code_of(check, looked_at) == "ranks_run"


def test_saved_bytes_to_predict_are_not_measured() -> None:
    def saved(*_: Any) -> int:
        return measure_saved_tensors(lambda: torch.ones(4, requires_grad=True).exp()).total_bytes

    assert code_of("check_attention_bytes", saved) == "saved_tensors_measured"
    assert saved() == 16

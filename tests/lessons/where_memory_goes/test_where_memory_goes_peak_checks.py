"""The checks of the predicted and of the extrapolated peak take any number, and say what is wrong with all else."""

import functools

import numpy as np
import pytest
import torch
from torch import nn

from grader.judging.lessons.where_memory_goes.step_peak import step_peak
from grader.lessons.where_memory_goes.checks import check_extrapolated_peak, check_step_peak
from grader.meters.forecast import forecast_peak_memory
from grader.meters.measurement import measure_peak_memory
from grader.verdict import CheckFailed


@pytest.fixture(autouse=True)
def no_attempts(monkeypatch):
    monkeypatch.setenv("LEAN_TRAINING_ATTEMPTS", "off")
    monkeypatch.delenv("LEAN_TRAINING_SEED", raising=False)


def right_peak(blocks, width, hidden, batch):
    return step_peak(blocks, width, hidden, batch)


def right_line(forecast_layers, few, more, layers):
    layer_bytes = (forecast_layers(more) - forecast_layers(few)) // (more - few)
    return forecast_layers(few) + (layers - few) * layer_bytes


def code_of(check, answer):
    with pytest.raises(CheckFailed) as failure:
        check(answer)
    return failure.value.code


NUMBERS = (int, float, np.int64, np.float64, torch.tensor, lambda value: torch.tensor([value]))


@pytest.mark.parametrize("convert", NUMBERS)
def test_any_number_of_bytes_passes_with_one_line(convert, capsys):
    check_step_peak(lambda blocks, width, hidden, batch: convert(right_peak(blocks, width, hidden, batch)))
    check_extrapolated_peak(lambda forecast, few, more, layers: convert(right_line(forecast, few, more, layers)))
    printed = capsys.readouterr()
    assert [line.partition(" ")[0] for line in printed.out.splitlines()] == ["passed:", "passed:"]
    assert printed.err == ""


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (None, "returned_none"),
        ("171.7 MiB", "wrong_type"),
        (True, "wrong_type"),
        ((1, 2), "wrong_type"),
        (torch.ones(2), "wrong_type"),
        (torch.ones((), requires_grad=True) * 2, "graph_returned"),
        (float("nan"), "not_finite"),
        (np.float64("inf"), "not_finite"),
        (256**1024, "too_large"),
        (-(10.0**30), "too_large"),
    ],
)
def test_anything_but_a_number_of_bytes_is_named(value, code, capsys):
    assert code_of(check_step_peak, lambda blocks, width, hidden, batch: value) == code
    assert code_of(check_extrapolated_peak, lambda forecast_layers, few, more, layers: value) == code
    assert capsys.readouterr() == ("", "")


def prepare():
    model = nn.Linear(4, 4)
    return {"step": lambda: model(torch.ones(1, 4)), "model": model}


METERS = {
    "peak_measured": lambda: measure_peak_memory(**prepare()).peak_bytes,
    "peak_forecast": lambda: forecast_peak_memory(prepare, operators="cpu").peak_bytes,
}


@pytest.mark.parametrize("code", METERS)
def test_meters_do_not_answer_within_the_function_and_do_afterwards(code):
    measure = METERS[code]
    assert code_of(check_step_peak, lambda blocks, width, hidden, batch: measure()) == code
    assert code_of(check_extrapolated_peak, lambda forecast_layers, few, more, layers: measure()) == code
    assert measure() == 4 * (16 + 4 + 4 + 4)


@pytest.mark.parametrize(
    ("asked", "code"),
    [(24, "large_model_forecast"), (1, "another_model_forecast"), (None, "another_model_forecast")],
)
def test_a_forecast_of_another_model_fails(asked, code):
    assert code_of(check_extrapolated_peak, lambda forecast_layers, few, more, layers: forecast_layers(asked)) == code


def test_a_small_model_may_be_forecast_often_and_with_numbers_of_other_types():
    def answer(forecast_layers, few, more, layers):
        cached = functools.cache(forecast_layers)
        assert cached(np.int64(few)) == forecast_layers(float(few))
        return right_line(forecast_layers, few, more, layers)

    check_extrapolated_peak(answer)


def test_one_small_model_alone_is_not_enough():
    answers = iter([12_549_588_588, 2_192_041_060, 4_640_064_288, 879_031_056])

    def answer(forecast_layers, few, more, layers):
        forecast_layers(few)
        return next(answers)

    assert code_of(check_extrapolated_peak, answer) == "small_models_not_forecast"

"""Answers of lesson 07 that no judge can compare."""

import numpy as np
import pytest
import torch
from torch.optim import _adafactor
from transformers.optimization import Adafactor

import grader
from grader.lessons.adafactor.records import kept_numbers
from grader.verdict import CheckFailed


def code_of(check: str, answer) -> str:
    with pytest.raises(CheckFailed) as failure:
        getattr(grader, check)(answer)
    assert len(failure.value.lines()) in (1, 3)
    return failure.value.code


@pytest.fixture(autouse=True)
def no_attempts(monkeypatch):
    monkeypatch.setenv("LEAN_TRAINING_ATTEMPTS", "off")


@pytest.mark.parametrize(
    ("value", "code"),
    [(None, "returned_none"), ([1], "wrong_type"), (float("nan"), "not_finite"), (True, "wrong_type")],
)
def test_a_value_that_is_no_number_is_rejected(value, code):
    assert code_of("check_adafactor_elements", lambda parameters, library: value) == code
    assert code_of("check_adafactor_rates", lambda form, lr, step, weight_rms: value) == code


def test_errors_name_what_the_function_was_called_with():
    def predict_adafactor_elements(parameters, library):
        return sum(tensor.shape[-2] for tensor in parameters)

    with pytest.raises(CheckFailed) as failure:
        grader.check_adafactor_elements(predict_adafactor_elements)
    assert failure.value.code == "raised_index_error"
    assert "library='transformers'" in failure.value.measured


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda gradient: gradient.numpy(), "wrong_type"),
        (lambda gradient: gradient.double(), "wrong_dtype"),
        (lambda gradient: gradient.to("meta"), "wrong_device"),
        (lambda gradient: gradient.to_sparse(), "wrong_layout"),
        (lambda gradient: gradient[0], "wrong_shape"),
        (lambda gradient: gradient.mT, "transposed"),
        (lambda gradient: torch.zeros_like(gradient), "estimate_zero"),
        (lambda gradient: gradient * float("nan"), "row_means_missing"),
        (lambda gradient: gradient, "unrecognised"),
    ],
)
def test_an_estimate_is_a_tensor_like_the_gradient(make, code):
    assert code_of("check_factored_moment", lambda gradient, state, decay_rate, eps: make(gradient.clone())) == code


def test_numbers_in_lists_and_arrays_are_state_too():
    tensor = torch.ones(3)
    state = {"step": 1, "means": [tensor, tensor], "log": [1.0, 2.0], "array": np.ones((2, 2)), "name": "a"}
    assert kept_numbers(state) == 1 + 3 + 2 + 4


def test_a_state_that_cannot_be_copied_is_rejected():
    def keep_generator(gradient, state, decay_rate, eps):
        state["parts"] = (part for part in gradient)
        return gradient.square()

    assert code_of("check_factored_moment", keep_generator) == "state_not_copied"


def test_the_libraries_work_again_after_a_check():
    assert code_of(
        "check_adafactor_steps", lambda optimizer: Adafactor(optimizer.param_groups[0]["params"]).step()
    ) == ("torch_optimizer_used")
    kept = _adafactor._single_tensor_adafactor
    weight = torch.nn.Parameter(torch.ones(2, 2))
    weight.grad = torch.ones(2, 2)
    ready = Adafactor([weight], lr=0.1, relative_step=False, scale_parameter=False)
    assert code_of("check_adafactor_steps", lambda optimizer: ready.step()) == "library_used"
    ready.step()
    torch.optim.Adafactor([weight]).step()
    assert kept is _adafactor._single_tensor_adafactor
    assert bool((weight < 1).all())

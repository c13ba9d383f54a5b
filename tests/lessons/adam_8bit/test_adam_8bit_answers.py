"""Checks of lesson 08 reject what is not an answer, and leave the libraries as they were."""

import numpy
import pytest
import torch

import grader
from grader.lessons.adam_8bit.job_records import record_job
from grader.observing.optimizer_records import state_formats
from grader.verdict import CheckFailed


def code_of(check: str, answer) -> str:
    with pytest.raises(CheckFailed) as failure:
        getattr(grader, check)(answer)
    assert len(failure.value.lines()) in (1, 3)
    return failure.value.code


@pytest.fixture(autouse=True)
def no_attempts(monkeypatch):
    monkeypatch.setenv("LEAN_TRAINING_ATTEMPTS", "off")


def test_a_prediction_is_a_number():
    assert code_of("check_eight_bit_state", lambda parameters: None) == "returned_none"
    assert code_of("check_eight_bit_state", lambda parameters: [1]) == "wrong_type"
    assert code_of("check_eight_bit_state", lambda parameters: float("nan")) == "not_finite"


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (None, "returned_none"),
        (3, "no_pair"),
        ((1, 2, 3), "no_pair"),
        (numpy.zeros((2, 3)), "no_pair"),
        (([0], [1.0]), "no_tensor"),
        ((torch.zeros(3, device="meta"), torch.zeros(1)), "wrong_device"),
        ((torch.zeros(3), torch.zeros(1)), "one_scale_for_all"),
        ((torch.zeros(0), torch.zeros(0)), "wrong_number_of_scales"),
    ],
)
def test_a_quantizer_returns_two_tensors(answer, code):
    assert code_of("check_block_codes", lambda values, code_book, block_size: answer) == code


def test_an_optimizer_that_does_nothing_is_reported():
    assert code_of("check_eight_bit_steps", lambda optimizer: None) == "weight_not_changed"


def test_an_error_of_an_answer_is_reported():
    def eight_bit_step(optimizer):
        raise KeyError("mean")

    assert code_of("check_eight_bit_steps", eight_bit_step) == "raised_key_error"
    assert code_of("check_block_codes", lambda values, code_book, block_size: values[10**6]) == "raised_index_error"


def test_a_job_that_is_not_done_is_reported():
    assert code_of("check_lean_job", lambda model, batches, budget_bytes: None) == "model_not_called"


def test_the_quantizers_work_again_after_a_check():
    code_of("check_block_codes", lambda values, book, size: grader.encode_blocks(values, book, size))
    codes, _ = grader.encode_blocks(torch.ones(3), torch.tensor([0.0, 1.0]))
    assert codes.tolist() == [1, 1, 1]


def test_what_states_share_counts_once():
    book = torch.zeros(256)
    states = [{"codes": torch.zeros(4, dtype=torch.uint8), "book": book, "step": 1}, {"book": book}]
    assert state_formats(states) == [{"uint8": 4, "float32": 256}, {}]


def test_a_record_keeps_no_optimizer_alive():
    model = torch.nn.Linear(2, 2)
    with record_job(model) as record:
        for _ in range(2):
            model(torch.ones(1, 2)).sum().backward()
            torch.optim.AdamW(model.parameters()).step()
            model.zero_grad()
    facts = record.facts()
    assert facts["forwards"] == facts["optimizers_made"] == 2
    assert facts["optimizers"] == ["AdamW"]

import bitsandbytes
import pytest
import torch
import transformers
from torch import nn

from grader.meters.optimizer_state import optimizer_state_bytes, optimizer_state_elements

from .models import build_distilbert

MIB = 2**20


@pytest.fixture(scope="module")
def distilbert():
    model = build_distilbert()
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    return model


def test_distilbert_is_the_published_shape(distilbert):
    parameters = list(distilbert.parameters())
    assert (sum(parameter.numel() for parameter in parameters), len(parameters)) == (65_783_042, 104)


@pytest.mark.parametrize(
    ("make", "elements", "mib"),
    [
        (lambda parameters: torch.optim.AdamW(parameters, foreach=False), 131_566_188, 501.89),
        (lambda parameters: transformers.Adafactor(parameters), 178_712, 0.68),
        (lambda parameters: torch.optim.Adafactor(parameters), 178_608, 0.68),
    ],
    ids=["adamw", "adafactor_of_transformers", "adafactor_of_torch"],
)
def test_state_of_distilbert(distilbert, make, elements, mib):
    optimizer = make(distilbert.parameters())
    assert (optimizer_state_elements(optimizer), optimizer_state_bytes(optimizer)) == (0, 0)
    optimizer.step()
    assert optimizer_state_elements(optimizer) == elements
    assert round(optimizer_state_bytes(optimizer) / MIB, 2) == mib


def test_shared_code_books_of_8_bit_adam_count_once(distilbert):
    optimizer = bitsandbytes.optim.Adam8bit(distilbert.parameters())
    optimizer.step()
    assert round(optimizer_state_bytes(optimizer) / MIB, 2) == 127.80


def test_nested_state_is_walked_and_plain_numbers_hold_no_bytes():
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(2))], lr=0.1)
    shared = torch.zeros(10)
    optimizer.state["first"] = {"codes": [shared, (shared.view(2, 5),)], "step": 3, "name": "codes"}
    assert optimizer_state_bytes(optimizer) == 40
    optimizer.state["first"] = {"codes": [shared, (shared,)], "step": 3, "name": "codes"}
    assert optimizer_state_elements(optimizer) == 11

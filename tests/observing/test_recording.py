from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.optim import optimizer as optimizers

from grader.observing.recording import flat_gradient, record_training


def hooks_of(model: nn.Module) -> tuple[int, int, int]:
    parameter = list(model.parameters())[-1]
    return (
        len(model._forward_hooks),
        len(parameter._post_accumulate_grad_hooks or {}),
        len(optimizers._global_optimizer_pre_hooks),
    )


def test_forwards_backwards_and_updates_are_recorded_in_order() -> None:
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    with record_training(model) as record:
        for rows in (2, 4):
            model(torch.ones(rows, 3)).mean().backward()
        optimizer.step()
    assert record.events == ["forward", "backward", "forward", "backward", "update"]
    assert record.forward_rows == [2, 4]
    assert record.is_training == [True, True]
    assert torch.equal(record.gradients[0], torch.full((4,), 2.0))
    assert torch.allclose(record.weights[0] - record.weights[1], torch.ones(4))
    assert set(record.tensors("0")) == {"0.gradient.0", "0.weights.0", "0.weights.1"}


def test_updates_of_other_models_are_not_recorded() -> None:
    model, other = nn.Linear(3, 1), nn.Linear(3, 1)
    optimizer = torch.optim.SGD(other.parameters(), lr=0.5)
    with record_training(model) as record:
        other(torch.ones(2, 3)).mean().backward()
        optimizer.step()
    assert record.events == []


def test_every_hook_is_removed_after_an_exception() -> None:
    model = nn.Linear(3, 1)
    before = hooks_of(model)
    with pytest.raises(KeyError), record_training(model):
        model(torch.ones(2, 3)).mean().backward()
        assert hooks_of(model) != before
        raise KeyError
    assert hooks_of(model) == before


def test_a_parameter_without_a_gradient_counts_as_zeros() -> None:
    model = nn.Linear(3, 1)
    model.bias.grad = torch.ones(1)
    assert flat_gradient(model).tolist() == [0, 0, 0, 1]

from __future__ import annotations

import pytest
import torch
from accelerate import Accelerator
from accelerate.data_loader import DataLoaderShard
from accelerate.optimizer import AcceleratedOptimizer
from torch import nn
from torch.utils.data import DataLoader
from transformers import Trainer

from grader.observing.library_calls import record_library_calls
from grader.observing.recording import TrainingRecord


def methods_of_the_libraries() -> list[object]:
    prepared = [Accelerator.prepare_model, Accelerator.prepare_optimizer, Accelerator.prepare_data_loader]
    used = [AcceleratedOptimizer.step, DataLoaderShard.__iter__]
    return [Accelerator.accumulate, Accelerator.backward, Trainer.train, *prepared, *used]


def train(accelerator: Accelerator, model: nn.Module, optimizer: torch.optim.Optimizer, loader: DataLoader) -> None:
    for inputs in loader:
        accelerator.backward(model(inputs.to(accelerator.device)).mean())
        optimizer.step()


def make_parts() -> tuple[nn.Module, torch.optim.Optimizer, DataLoader]:
    model = nn.Linear(3, 1)
    return model, torch.optim.SGD(model.parameters(), lr=0.5), DataLoader(torch.ones(4, 3), batch_size=2)


def test_libraries_are_as_before_after_an_exception() -> None:
    before = methods_of_the_libraries()
    with pytest.raises(KeyError), record_library_calls(TrainingRecord()):
        assert all(now is not old for now, old in zip(methods_of_the_libraries(), before, strict=True))
        raise KeyError
    assert methods_of_the_libraries() == before


def test_what_was_prepared_and_what_was_used_are_told_apart() -> None:
    accelerator = Accelerator(gradient_accumulation_steps=2)
    with record_library_calls(TrainingRecord()) as calls:
        train(accelerator, *accelerator.prepare(*make_parts()))
    assert sorted(calls["prepared"]) == ["loader", "model", "optimizer"]
    assert calls["used"] == ["loader", "optimizer"] * 2
    assert calls["backward"] == [2, 2]
    assert calls["trainer"] == calls["accumulate"] == []


def test_what_was_prepared_in_vain_is_not_used() -> None:
    accelerator, parts = Accelerator(), make_parts()
    with record_library_calls(TrainingRecord()) as calls:
        accelerator.prepare(*parts)
        train(accelerator, *parts)
    assert sorted(calls["prepared"]) == ["loader", "model", "optimizer"]
    assert calls["used"] == []

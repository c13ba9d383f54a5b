from __future__ import annotations

import pytest
import torch

from grader.meters.optimizer_run import measure_optimizer_run


def train(model: torch.nn.Module, updates: int = 3) -> None:
    optimizer = torch.optim.AdamW(model.parameters())
    other = torch.optim.AdamW(torch.nn.Linear(100, 100).parameters())
    for _ in range(updates):
        model(torch.ones(1, 4)).sum().backward()
        optimizer.step()
        other.step()


def test_state_counts_the_optimizers_of_this_model_only() -> None:
    run = measure_optimizer_run(train, torch.nn.Linear(4, 2))  # 10 numbers, two moments, two step counters
    assert (run.steps, run.state_bytes, run.step_seconds > 0) == (3, 2 * 4 * 10 + 2 * 4, True)


def test_one_update_has_no_step_time() -> None:
    with pytest.raises(ValueError, match="1 updates"):
        measure_optimizer_run(lambda model: train(model, 1), torch.nn.Linear(4, 2))

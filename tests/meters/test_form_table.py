"""One training in several forms: weights, peak and time in one table."""

from __future__ import annotations

import torch
from torch import nn

from grader import compare_forms


def make_model() -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 1))


def train(model: nn.Module, parts: int, rate: float = 0.1) -> None:
    print("a line that the table leaves out")
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    for seed in range(2):
        rows = torch.randn(2048, 64, generator=torch.Generator().manual_seed(seed))
        for part in rows.chunk(parts):
            (model(part).square().mean() / parts).backward()
        optimizer.step()
        optimizer.zero_grad()


def test_equal_weights_a_smaller_peak_and_another_learning_rate_show_in_the_table(capsys) -> None:
    runs = {"plain": lambda model: train(model, 1), "raw": lambda model: train(model, 4)}
    table = compare_forms(runs | {"slow": lambda model: train(model, 4, 0.05)}, make_model, updates=2)
    plain, raw, slow = table.rows
    assert capsys.readouterr().out == ""
    assert (plain.distance < 1e-4, raw.distance, slow.distance > 0.1) == (True, 0.0, True)
    assert raw.peak_bytes < 0.5 * plain.peak_bytes
    assert raw.peak_bytes == slow.peak_bytes
    assert all(row.update_seconds > 0 for row in table.rows)
    assert "from raw" in repr(table)
    assert repr(table).count("MiB") == 3

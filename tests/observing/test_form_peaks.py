"""The peak of a whole run, as a check claims it."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from grader.observing.form_peaks import claim_form_peak
from grader.verdict import CheckFailed


def run(model: nn.Module, rows: int) -> torch.Tensor:
    outputs: torch.Tensor = model(torch.ones(rows, 64))
    outputs.sum().backward()
    model.zero_grad()
    return outputs


def test_a_claim_grows_with_the_rows_of_a_run() -> None:
    small, large = (claim_form_peak(lambda model, n=rows: run(model, n), nn.Linear(64, 64)) for rows in (100, 1000))
    assert large["above_entry_bytes"] - small["above_entry_bytes"] == 900 * 64 * 4 * 2  # inputs and outputs
    assert large["device"] == "cpu"


def test_a_run_that_keeps_tensors_is_named() -> None:
    kept: list[torch.Tensor] = []
    with pytest.raises(CheckFailed) as failed:
        claim_form_peak(lambda model: kept.append(run(model, 100)), nn.Linear(64, 64))
    assert failed.value.code == "memory_kept"

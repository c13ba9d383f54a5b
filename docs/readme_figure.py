"""Measures and paints the figure of the README: `python docs/readme_figure.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from grader import make_chain, measure_peak_memory
from grader.figures import render_timelines


def make_update(k: int) -> dict[str, Any]:
    """One AdamW update with 512 rows in k micro-batches, as in lesson 02."""
    model = make_chain(16, 256, 1024)
    optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
    inputs = torch.randn(512, 256)  # [batch, width]

    def step() -> None:
        optimizer.zero_grad()
        for rows in inputs.chunk(k):
            (model(rows).square().mean() / k).backward()
        optimizer.step()

    return {"step": step, "model": model, "optimizer": optimizer, "inputs": inputs}


def main() -> None:
    """Write docs/images/accumulation.png."""
    peaks = {f"{k} micro-batches" if k > 1 else "whole batch": measure_peak_memory(**make_update(k)) for k in (1, 2, 8)}
    picture = render_timelines(peaks, title="One update with 512 rows, measured on a CPU")
    Path(__file__).with_name("images").joinpath("accumulation.png").write_bytes(picture)


if __name__ == "__main__":
    main()

"""Measures and paints the figure of the README: `python docs/readme_figure.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from grader import make_chain, measure_peak_memory
from grader.figures import render_timelines


def make_step(batch: int) -> dict[str, Any]:
    """One AdamW update of a chain of 16 blocks, as in lesson 01."""
    model = make_chain(16, 256, 1024)
    optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
    inputs = torch.randn(batch, 256)  # [batch, width]

    def step() -> None:
        optimizer.zero_grad()
        model(inputs).square().mean().backward()
        optimizer.step()

    return {"step": step, "model": model, "optimizer": optimizer, "inputs": inputs}


def main() -> None:
    """Write docs/images/step_timeline.png."""
    peaks = {f"{batch} rows": measure_peak_memory(**make_step(batch)) for batch in (512, 32)}
    picture = render_timelines(peaks, title="One training step of 16 blocks, measured on a CPU")
    Path(__file__).with_name("images").joinpath("step_timeline.png").write_bytes(picture)


if __name__ == "__main__":
    main()

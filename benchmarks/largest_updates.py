"""Forecast the largest updates that the lessons run on a GPU: what a T4 needs for them, with fp16 for want of bf16.

The sizes are those of the lessons, and the operators those of CUDA, emulated. What else a lesson still holds from its
cells before is not forecast; `lesson_memory.py` bounds that by a measurement.

Run: python benchmarks/largest_updates.py
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import torch
from lesson_memory import T4_GIB
from torch import nn

from grader import (
    forecast_peak_memory,
    make_bert,
    make_chain,
    make_pair_classifier,
    make_word_batches,
    make_word_sorter,
)
from grader.units import GIB, MIB

Job = Callable[[], dict[str, Any]]


def update(make_model: Callable[[], nn.Module], make_inputs: Callable[[], Any], *, is_half: bool = False) -> Job:
    """Return what `forecast_peak_memory` takes: one update by AdamW as PyTorch sets it, under autocast if asked."""

    def prepare() -> dict[str, Any]:
        model, inputs = make_model(), make_inputs()
        optimizer = torch.optim.AdamW(model.parameters())

        def step() -> None:
            optimizer.zero_grad()
            with torch.autocast("cpu", torch.float16) if is_half else nullcontext():
                returned = model(*inputs)
                outputs = returned if isinstance(returned, torch.Tensor) else returned.logits
                loss = outputs.float().square().mean()
            loss.backward()
            optimizer.step()

        return {"step": step, "model": model, "optimizer": optimizer, "inputs": inputs}

    return prepare


def tokens(rows: int, time: int) -> tuple[torch.Tensor]:
    """Return token ids [rows, time]."""
    return (torch.zeros(rows, time, dtype=torch.int64),)


JOBS = {
    "01, 02, 05, 06: chain, 512 rows": update(make_chain, lambda: (torch.randn(512, 256),)),
    "05: the same in fp16": update(make_chain, lambda: (torch.randn(512, 256),), is_half=True),
    "03: BERT of 6 layers, 4 x 128 tokens": update(lambda: make_bert(6, hidden=256, heads=4), lambda: tokens(4, 128)),
    "00: pair classifier, 64 x 32 tokens": update(make_pair_classifier, lambda: tokens(64, 32)),
    "08: word sorter, 8 texts": update(
        lambda: make_word_sorter(512, 192, 384, blocks=16), lambda: make_word_batches(1, rows=8, vocabulary=512)[0]
    ),
}


def main() -> None:
    """Print a line for each update, and the largest."""
    largest = 0
    for name, job in JOBS.items():
        peak = forecast_peak_memory(job).peak_bytes
        largest = max(largest, peak)
        print(f"{name:<40} {peak / MIB:>6.0f} MiB", flush=True)
    print(f"largest: {largest / GIB:.2f} GiB, {largest / GIB / T4_GIB:.1%} of a T4")


if __name__ == "__main__":
    main()

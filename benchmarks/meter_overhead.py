"""What a measurement costs: metered over plain step time, microseconds per operator, and seconds per forecast.

Run `python benchmarks/meter_overhead.py`. All ratios are of times taken in turns within this one run.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from grader.meters.device_facts import device_facts
from grader.meters.forecast import forecast_peak_memory
from grader.meters.measurement import measure_peak_memory
from grader.meters.step_time import measure_step_time
from grader.testbed.pretrained import make_bert_large, make_distilbert
from grader.units import format_bytes, format_seconds

TARGET_RATIO = 1.2
SMALL_OPERATORS = 2000


class OperatorCount(TorchDispatchMode):
    """Counts the operators that run."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Count one operator and run it."""
        self.count += 1
        return func(*args, **kwargs or {})


def make_distilbert_job(batch: int = 8, time_steps: int = 128) -> dict[str, Any]:
    """Build one update of a full-size DistilBERT on tokens [batch, time_steps], as arguments of a measurement."""
    model = make_distilbert()
    return job_of(model, torch.randint(1000, (batch, time_steps)))


def job_of(model: Any, tokens: torch.Tensor, micro_batches: int = 1) -> dict[str, Any]:
    """Return step, model, optimizer and inputs of one AdamW update in micro-batches."""
    optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
    labels = torch.zeros(len(tokens), dtype=torch.long)

    def step() -> None:
        for inputs, targets in zip(tokens.chunk(micro_batches), labels.chunk(micro_batches), strict=True):
            loss = model(input_ids=inputs, labels=targets).loss / micro_batches
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return {"step": step, "model": model, "optimizer": optimizer, "inputs": (tokens, labels)}


def compare(name: str, step: Callable[[], object], arguments: dict[str, Any], run_count: int) -> float:
    """Print the times of two plain calls and of a measurement, which makes two calls; return metered over plain."""

    def plain() -> None:
        step()
        step()

    def metered() -> None:
        measure_peak_memory(step, **arguments)

    times = measure_step_time(plain, metered, run_count=run_count, warm_up_count=1, device="cpu")
    with OperatorCount() as operators:
        step()
    print(f"{name}: {operators.count:,} operators a step\n{times}")
    if operators.count == SMALL_OPERATORS:  # for a longer step the difference of two times is mostly noise
        overhead_seconds = (times.steps[1].median_seconds - times.steps[0].median_seconds) / (2 * operators.count)
        print(f"  the meter takes {format_seconds(overhead_seconds)} an operator")
    fastest = [min(timed.run_seconds) for timed in times.steps]  # other work on the machine only ever adds
    print(f"  metered over plain {fastest[1] / fastest[0]:.2f} of the fastest runs\n")
    return fastest[1] / fastest[0]


def forecast_times() -> None:
    """Print how long a forecast of BERT-large takes, and what it says."""
    for micro_batches in (1, 4):
        for operators in ("cpu", "cuda"):

            def prepare(micro_batches: int = micro_batches) -> dict[str, Any]:
                return job_of(make_bert_large(), torch.zeros(4, 512, dtype=torch.long), micro_batches)

            start = time.perf_counter()
            peak = forecast_peak_memory(prepare, operators=operators)
            seconds = format_seconds(time.perf_counter() - start)
            name = f"BERT-large, 4 x 512 tokens in {micro_batches} micro-batches, {operators} operators"
            print(f"{name}: {format_bytes(peak.peak_bytes)}, forecast in {seconds}")


def main() -> None:
    """Print all ratios of this machine."""
    print(device_facts(), end="\n\n")
    numbers = torch.zeros(1)

    def small_operators() -> None:
        for _ in range(SMALL_OPERATORS):
            numbers + 1

    compare("Adding one number, the worst case", small_operators, {}, run_count=10)
    job = make_distilbert_job()
    ratio = compare("DistilBERT, 8 x 128 tokens, AdamW", job.pop("step"), job, run_count=5)
    verdict = "met" if ratio <= TARGET_RATIO else "missed"
    print(f"target on DistilBERT, metered over plain at most {TARGET_RATIO}: {verdict}\n")
    forecast_times()


if __name__ == "__main__":
    main()

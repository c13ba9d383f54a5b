"""The published table of BERT-large, each row forecast in full at real scale: what this package says, and what is left.

No device takes part: the forecasts run on tensors without data, with CUDA's operators emulated. The published run kept
its gradients, as `zero_grad()` did at the time; a column forecasts that.

Run: python benchmarks/published_table.py
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any

from grader import BERT_LARGE_ROWS, MIB, bert_large_parts, bert_large_recipe, forecast_peak_memory
from grader.observing.quiet import quiet_stderr

MOST_MICRO_BATCHES = 2  # the peak is that of any larger number


def keep_gradients(recipe: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Prepare a job whose optimizer fills gradients with zeros and keeps them."""
    job = recipe()
    job["optimizer"].zero_grad = partial(job["optimizer"].zero_grad, set_to_none=False)
    return job


def print_parts() -> None:
    """Print the parts that lesson 25 composes peaks of, for the plain setting."""
    parts = dataclasses.asdict(bert_large_parts())
    print("parts of float32, eager attention and AdamW, MiB; from kept on for each row of 512 tokens:")
    print(", ".join(f"{name} {size / MIB:,.1f}" for name, size in parts.items()))


def main() -> None:
    """Print one line for each row."""
    print(f"{'MiB':<32}{'forecast':>10}{'gradients kept':>16}{'published':>11}{'gap':>8}")
    for name, row in BERT_LARGE_ROWS.items():
        recipe = bert_large_recipe(name, accumulate=min(row.recipe.accumulate, MOST_MICRO_BATCHES))
        with quiet_stderr():  # torchao and bitsandbytes name each of their CUDA libraries that a CPU cannot load
            jobs = (recipe, partial(keep_gradients, recipe))
            freed, kept = (forecast_peak_memory(job).peak_bytes / MIB for job in jobs)
        gap = row.less_context_mib - kept
        print(f"{name:<32}{freed:>10,.0f}{kept:>16,.0f}{row.less_context_mib:>11,}{gap:>8,.0f}", flush=True)
    print(
        "published: nvidia-smi on a V100 in January 2022, less the CUDA context; not forecast: the allocator's reserve"
    )
    print_parts()


if __name__ == "__main__":
    main()

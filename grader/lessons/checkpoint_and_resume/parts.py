"""Runs by their facts, for which a checkpoint needs other parts."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

PARTS = ("optimizer", "scheduler", "scaler", "rng", "order", "position", "gradients")
Run = dict[str, Any]
BARE: Run = {
    "optimizer": "sgd",
    "schedule": "constant",
    "warm_up": 0,
    "update": 900,
    "dropout": 0.0,
    "precision": "float32",
    "rows": "in order",
    "micro_batches": 40,
    "micro_batch": 40,
    "k": 4,
}


def run_cases(seed: int) -> tuple[Run, ...]:
    """Nine runs, of which each part's rule decides at least one, in an order of the seed."""
    draw = random.Random(seed)
    k = draw.choice((3, 5, 6))
    groups, short = draw.randrange(8, 14), draw.randrange(1, k)
    epoch = {"micro_batches": groups * k + short, "k": k}
    whole, border = groups * k + short, draw.randrange(2, groups) * k
    update, dropout = draw.randrange(400, 900), draw.choice((0.1, 0.2))
    runs: list[Run] = [
        {"micro_batch": whole},
        {"optimizer": "momentum", "micro_batch": border, "rows": "shuffled"},
        {"optimizer": "adamw", "micro_batch": whole, "rows": "shuffled", "precision": "bf16"},
        {"optimizer": "adamw", "micro_batch": border + 1, "precision": "fp16", "dropout": dropout},
        {"schedule": "cosine", "micro_batch": whole, "dropout": dropout, "precision": "bf16"},
        {"schedule": "warm_up", "warm_up": update - draw.randrange(50, 300), "micro_batch": border},
        {"schedule": "warm_up", "warm_up": update + draw.randrange(50, 300), "micro_batch": whole, "rows": "shuffled"},
        {"optimizer": "momentum", "micro_batch": groups * k, "precision": "fp16"},
        {"schedule": "warm_up", "warm_up": 0, "micro_batch": whole - 1, "k": 1, "rows": "shuffled"},
    ]
    draw.shuffle(runs)
    return tuple({**BARE, **epoch, "update": update, **run} for run in runs)


def run_parts(parts_needed: Callable[..., Any], run: Run) -> dict[str, bool]:
    """Ask for the parts of one run; return whether each one is needed."""
    parts = parts_needed(dict(run))
    return {part: part in parts for part in PARTS}

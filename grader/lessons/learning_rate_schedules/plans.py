"""Runs by the schedule warm-up, stable, decay, which are interrupted and continued by another plan."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

UPDATES_AFTER_THE_END = 9  # a schedule that starts again shows by then
Plan = tuple[int, int, int]  # updates of warm-up, stable phase and decay


@dataclass(frozen=True)
class PlanCase:
    """A run with two parameter groups, which may be interrupted.

    Attributes:
        what: What happens, in words.
        peaks: The peak of each parameter group.
        plan: The plan that the run starts with.
        done: Updates until the interruption; 0 for a run in one piece.
        next_plan: The plan that it continues with.
    """

    what: str
    peaks: tuple[float, float]
    plan: Plan
    done: int
    next_plan: Plan


def plan_cases(seed: int) -> tuple[PlanCase, ...]:
    """A whole run, and runs interrupted in each phase; the stable phase of some grows."""
    draw = random.Random(seed)
    peaks = draw.choice(((0.1, 0.02), (0.5, 0.05), (0.3, 0.9)))
    warm_up, stable, decay = draw.randrange(3, 7), draw.randrange(5, 9), draw.randrange(4, 8)
    plan, longer = (warm_up, stable, decay), (warm_up, stable + 6, decay)
    in_decay = warm_up + stable + decay // 2
    return (
        PlanCase("one piece", (0.1, 0.02), (4, 6, 5), 0, (4, 6, 5)),
        PlanCase("interrupted in the warm-up", peaks, plan, warm_up - 1, plan),
        PlanCase("interrupted in the stable phase, which grows by 6", peaks, plan, warm_up + 2, longer),
        PlanCase("interrupted in the decay", peaks, plan, in_decay, plan),
        PlanCase("interrupted in the decay, while the stable phase grows by 6", peaks, plan, in_decay, longer),
    )


def run_plan(make_wsd: Callable[..., Any], case: PlanCase) -> list[list[float]]:
    """Run a case; return the learning rates of both groups at each update, and at some updates after the end."""
    rates: list[list[float]] = []
    optimizer = _make_optimizer(case.peaks)
    if case.done:
        _step(optimizer, make_wsd(optimizer, *case.plan, 0), case.done, rates)
        saved = optimizer.state_dict()
        for group, peak in zip(saved["param_groups"], case.peaks, strict=True):
            group["initial_lr"] = peak
        optimizer = _make_optimizer(case.peaks)
        optimizer.load_state_dict(saved)
    scheduler = make_wsd(optimizer, *case.next_plan, case.done)
    _step(optimizer, scheduler, sum(case.next_plan) - case.done + UPDATES_AFTER_THE_END, rates)
    return rates


def _make_optimizer(peaks: tuple[float, float]) -> torch.optim.Optimizer:
    groups = [{"params": [nn.Parameter(torch.ones(1))], "lr": peak} for peak in peaks]
    return torch.optim.SGD(groups, lr=1.0)


def _step(optimizer: torch.optim.Optimizer, scheduler: Any, updates: int, rates: list[list[float]]) -> None:
    for _ in range(updates):
        rates.append([float(group["lr"]) for group in optimizer.param_groups])
        optimizer.step()
        scheduler.step()

"""Small regressions that are trained with accumulation, clipping and a schedule."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.lr_scheduler import LambdaLR

from grader.device import lesson_device
from grader.observing.optimizer_records import record_updates
from grader.observing.recording import flat_weights
from grader.testbed.regressions import MicroBatch, draw_micro_batches, make_regression

FEATURES, ROWS = 6, 4


@dataclass(frozen=True)
class ScheduledCase:
    """One epoch in groups of `k` micro-batches.

    Attributes:
        micro_batches: How many there are; the last group is shorter where `k` does not divide them.
        k: Micro-batches of an update.
        max_norm: Norm at which the gradient is clipped.
        seed: Seed of weights and data.
    """

    micro_batches: int
    k: int
    max_norm: float
    seed: int

    def make_model(self) -> nn.Sequential:
        """Build the model, on the CPU."""
        return make_regression(FEATURES, self.seed)

    def draw(self) -> list[MicroBatch]:
        """Draw the micro-batches, on the CPU: groups with small and large gradients in turn, the last one large."""
        drawn = draw_micro_batches(self.micro_batches, ROWS, FEATURES, self.seed)
        sizes = [(3.0 if index // self.k % 2 else 0.2) * (1 + index % 2) for index in range(self.micro_batches)]
        return [(x * min(size, 1.0), (y - i) * size) for i, ((x, y), size) in enumerate(zip(drawn, sizes, strict=True))]


def scheduled_cases(seed: int) -> tuple[ScheduledCase, ...]:
    """A short last group, and full groups of another size."""
    draw = random.Random(seed)
    k = draw.choice((2, 5))
    return ScheduledCase(14, 4, 1.5, seed), ScheduledCase(6 * k, k, 1.5, seed + 1)


def run_scheduled(train_scheduled: Callable[..., Any], case: ScheduledCase) -> dict[str, Any]:
    """Train the model of a case; return what was returned, the rate of each update, and the weights at the end."""
    device = lesson_device()
    model = case.make_model().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.4)
    scheduler = LambdaLR(optimizer, lambda update: 1 / (1 + update))
    micro_batches = [(inputs.to(device), targets.to(device)) for inputs, targets in case.draw()]
    with record_updates(model) as options:
        norms = train_scheduled(model, F.mse_loss, optimizer, scheduler, micro_batches, case.k, case.max_norm)
    return {
        "rates": [update["rates"][0] for update in options.updates],
        "norms": norms,
        "weights": flat_weights(model).cpu(),
        "final_rate": optimizer.param_groups[0]["lr"],
    }

"""A model that several ranks train within a budget of bytes, and what each rank reports; on the CPU."""

from __future__ import annotations

import random
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.optim.optimizer import register_optimizer_step_post_hook

from grader.meters.measurement import measure_peak_memory
from grader.ranks.collectives import CollectiveLog
from grader.testbed.blocks import make_wide_blocks

LEARNING_RATE = 0.05
EPSILON = 0.1  # as large as gradients here, so that AdamW does not hide their scale
UPDATES = 2
ROOM = 0.9  # for what is neither a weight, a gradient nor state: a part of the weights' bytes
LET_GO_SECONDS = 0.02


@dataclass(frozen=True)
class JobCase:
    """Blocks that ranks train together, each on rows of its own.

    Attributes:
        world_size: How many ranks.
        blocks: How many blocks follow each other.
        width: Features between two blocks.
        rows: Rows of a batch on each rank.
        seed: Seed of weights and rows.
    """

    world_size: int
    blocks: int
    width: int
    rows: int
    seed: int

    @property
    def weight_bytes(self) -> int:
        """Bytes of all weights, of all gradients, or of one of the two moments."""
        return 4 * self.blocks * (8 * self.width**2 + 5 * self.width)

    @property
    def share_bytes(self) -> int:
        """Bytes of state of a rank that holds whole blocks' moments, as few as an even split allows."""
        return 2 * self.weight_bytes * -(-self.blocks // self.world_size) // self.blocks

    @property
    def budget_bytes(self) -> int:
        """Weights, gradients, a share of the state, and some room."""
        return 2 * self.weight_bytes + self.share_bytes + int(ROOM * self.weight_bytes)

    def make_model(self) -> nn.Sequential:
        """Build the blocks, the same on every rank."""
        return make_wide_blocks(self.blocks, self.width, 4 * self.width, seed=self.seed)

    def make_batches(self, rank: int) -> list[tuple[Tensor, Tensor]]:
        """Draw inputs and targets [rows, width] of each update."""
        generator = torch.Generator().manual_seed(self.seed + 100 + rank)
        sizes = (2, self.rows, self.width)
        drawn = (torch.randn(sizes, generator=generator) + rank for _ in range(UPDATES))
        return [(inputs, targets) for inputs, targets in drawn]


def job_cases(seed: int) -> tuple[JobCase, ...]:
    """Return two settings: four ranks, and three among which the blocks cannot be shared out evenly."""
    draw = random.Random(seed)
    return (
        JobCase(4, 16, 32, draw.randrange(120, 136, 8), seed),
        JobCase(3, 14, draw.choice((24, 28)), draw.randrange(96, 120, 8), seed + 1),
    )


def observe_job(rank: int, answer: Callable[..., Any], seed: int, number: int) -> dict[str, Any]:
    """Do the job once for its weights and its state, and again for its peak."""
    case = job_cases(seed)[number]
    model, batches = case.make_model(), case.make_batches(rank)
    stepped: weakref.WeakSet[torch.optim.Optimizer] = weakref.WeakSet()
    state_bytes = [0]

    def after_step(optimizer: torch.optim.Optimizer, *_: Any) -> None:
        stepped.add(optimizer)
        tensors = [value for one in stepped for state in one.state.values() for value in state.values()]
        state_bytes.append(sum(value.nbytes for value in tensors if isinstance(value, Tensor)))

    hook = register_optimizer_step_post_hook(after_step)
    with CollectiveLog() as log:
        answer(model, batches, case.budget_bytes)
    hook.remove()
    weights = nn.utils.parameters_to_vector(model.parameters()).detach().clone()

    def do_job() -> None:
        answer(model, batches, case.budget_bytes)
        dist.barrier()
        time.sleep(LET_GO_SECONDS)  # gloo's threads let go of a tensor a moment after the call that waited for it

    peak = measure_peak_memory(do_job, model=model, inputs=batches)
    at_peak = peak.peak_sample
    facts = {
        "collectives": sorted({name for name, _, _ in log.events}),
        "state_bytes": max(state_bytes),
        "peak_bytes": peak.peak_bytes,
        "saved_bytes": at_peak.activation_bytes if at_peak and at_peak.phase == "backward" else 0,
    }
    return {"facts": facts, "tensors": {"weights": weights}}

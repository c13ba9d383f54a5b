"""Ways to train on several ranks that a test has to tell apart."""

from __future__ import annotations

import random
from dataclasses import dataclass

import torch
from torch import Tensor, nn

METHODS = GRADIENTS, PARAMETERS, DRIVER, NOTHING = ("gradients", "parameters", "driver", "nothing")


@dataclass(frozen=True)
class MethodCase:
    """One way to train.

    Attributes:
        world_size: How many ranks.
        method: What a right test calls it.
        every: With "parameters", the ranks average after so many updates.
        driver: With "driver", the rank that takes the steps.
        is_first_shared: Whether all ranks have the same rows at the first update.
        updates: How many each rank takes, or the driver.
        width: Features of the layers.
        seed: Seed of weights and rows.
    """

    world_size: int
    method: str
    every: int
    driver: int
    is_first_shared: bool
    updates: int
    width: int
    seed: int

    def make_model(self) -> nn.Sequential:
        """Build the model, the same on every rank."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            return nn.Sequential(nn.Linear(self.width, self.width), nn.Tanh(), nn.Linear(self.width, 1))

    def make_batch(self, rank: int, update: int) -> tuple[Tensor, Tensor]:
        """Draw inputs [8, width] and targets [8, 1] of one rank for one update."""
        owner = 0 if self.is_first_shared and update == 0 else rank
        generator = torch.Generator().manual_seed(self.seed + 1000 * owner + update)
        return torch.randn(8, self.width, generator=generator), torch.randn(8, 1, generator=generator)


def method_cases(seed: int) -> tuple[MethodCase, ...]:
    """Nine settings on two and three ranks, in an order of the seed.

    "parameters" are averaged after every update or after several; the driver is any rank.
    """
    draw = random.Random(seed)
    width, updates = draw.randrange(3, 9), draw.choice((4, 6))

    def case(world_size: int, method: str, every: int = 1, driver: int = 0, *, shared: bool = False) -> MethodCase:
        return MethodCase(world_size, method, every, driver, shared, updates, width, seed)

    pairs = [
        case(2, GRADIENTS),
        case(2, PARAMETERS, 2),
        case(2, DRIVER),
        case(2, NOTHING),
        case(2, PARAMETERS, 1),
    ]
    triples = [
        case(3, GRADIENTS, shared=True),
        case(3, PARAMETERS, 2, shared=True),
        case(3, DRIVER, driver=2),
        case(3, NOTHING, shared=True),
    ]
    draw.shuffle(pairs)
    draw.shuffle(triples)
    return (*pairs, *triples)

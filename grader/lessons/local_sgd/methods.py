"""Ways to train on several ranks, for a test that has to distinguish them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

METHODS = GRADIENTS, PARAMETERS, DRIVER, NOTHING = ("gradients", "parameters", "driver", "nothing")


# How the gradients of the ranks differ, before anything is averaged.
OWN_ROWS, FIRST_SHARED, LAST_SHARED = "own rows", "the first ones agree", "the last ones agree"
LAST_BITS, LAST_PARAMETER, REORDERED, RANK_TWO, OTHER_UPDATES, SIGNED_ZERO, NOT_NUMBERS = (
    "they differ in their last bits",
    "they differ in the last parameter",
    "the same numbers in another order",
    "rank 2's differ",
    "the same ones at other updates",
    "0 on one rank is -0 on the other",
    "one number of each is NaN",
)


@dataclass(frozen=True)
class MethodCase:
    """One way to train.

    Attributes:
        world_size: How many ranks.
        is_gradient_averaged: Whether the ranks average their gradients before a step.
        is_parameter_averaged: Whether they average their parameters after every so many updates.
        is_driver_alone: Whether one rank takes the steps, and sends its parameters to the others.
        every: After how many updates they average parameters.
        driver: The rank that may take the steps alone.
        difference: How the gradients of the ranks differ.
        is_kept: Whether gradients are cleared in place, so that each stays the same tensor.
        is_normalised: Whether the model has running statistics, which stay different on each rank.
        updates: How many each rank takes, or the driver.
        width: Features of the layers.
        seed: Seed of weights and rows.
    """

    world_size: int
    is_gradient_averaged: bool
    is_parameter_averaged: bool
    is_driver_alone: bool
    every: int
    driver: int
    difference: str
    is_kept: bool
    is_normalised: bool
    updates: int
    width: int
    seed: int

    def make_model(self) -> nn.Sequential:
        """Build the model, the same on every rank; its very first weight is 1."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            first = nn.Linear(self.width, self.width)
            middle = [nn.BatchNorm1d(self.width)] if self.is_normalised else []
            model = nn.Sequential(first, *middle, nn.Tanh(), nn.Linear(self.width, 1))
        with torch.no_grad():
            first.weight[0, 0] = 1.0
        return model

    def loss(self, model: nn.Module, rank: int, update: int) -> Tensor:
        """Compute the loss of one rank at one update; its gradient differs between the ranks as the case says."""
        if self.difference in (OWN_ROWS, FIRST_SHARED):
            inputs, targets = self.make_batch(rank, update)
            return F.mse_loss(model(inputs), targets)
        parameters = list(model.parameters())
        slopes = self.slopes([one.shape for one in parameters], rank, update)
        return torch.stack([(one * slope).sum() for one, slope in zip(parameters, slopes, strict=True)]).sum()

    def make_batch(self, rank: int, update: int) -> tuple[Tensor, Tensor]:
        """Draw inputs [8, width] and targets [8, 1] of one rank for one update."""
        owner = 0 if self.difference == FIRST_SHARED and update == 0 else rank
        generator = torch.Generator().manual_seed(self.seed + 1000 * owner + update)
        return torch.randn(8, self.width, generator=generator), torch.randn(8, 1, generator=generator)

    def slopes(self, shapes: Sequence[torch.Size], rank: int, update: int) -> list[Tensor]:
        """Return the gradient of each parameter: small multiples of 1/16, whose sums are exact in any order."""
        turn = (update + rank) % self.updates if self.difference == OTHER_UPDATES else update
        generator = torch.Generator().manual_seed(self.seed + turn)
        slopes = [torch.randint(-8, 9, shape, generator=generator) / 16 for shape in shapes]
        slopes[0][0, 0] = 1.0
        if self.difference == LAST_BITS:
            slopes[0][0, 0] += rank * 2**-19
        if self.difference == LAST_PARAMETER:
            slopes[-1] += rank
        if self.difference == SIGNED_ZERO:
            slopes[-1].fill_(-0.0 if rank else 0.0)
        if self.difference == NOT_NUMBERS:
            slopes[-1].fill_(float("nan"))
            slopes[0][0, 1] += rank
        if self.difference == REORDERED:
            slopes = [slope.flatten().roll(rank).view_as(slope) for slope in slopes]
        is_other = update < self.updates - 1 if self.difference == LAST_SHARED else rank == 2
        if self.difference in (LAST_SHARED, RANK_TWO) and is_other:
            slopes = [slope + rank for slope in slopes]
        return slopes


def method_cases(seed: int) -> tuple[MethodCase, ...]:
    """Twenty settings on two and three ranks, in an order of the seed.

    "parameters" are averaged after every update or after several; the driver is any rank. Gradients differ much, or
    in their last bits or in the sign of a zero only, at every update or not, in all parameters or in one, on all ranks
    or on one; some hold a NaN. Two models have running statistics, which nobody averages.
    """
    draw = random.Random(seed)
    width, updates = draw.randrange(3, 9), draw.choice((4, 6))

    def case(
        world_size: int,
        method: str,
        difference: str = OWN_ROWS,
        every: int = 2,
        driver: int = 0,
        *,
        kept: bool = False,
        normalised: bool = False,
    ) -> MethodCase:
        ways = (method in (GRADIENTS, DRIVER), method == PARAMETERS, method == DRIVER)
        return MethodCase(world_size, *ways, every, driver, difference, kept, normalised, updates, width, seed)

    pairs = [
        case(2, GRADIENTS),
        case(2, PARAMETERS),
        case(2, DRIVER),
        case(2, NOTHING),
        case(2, PARAMETERS, every=1, normalised=True),
        case(2, PARAMETERS, LAST_BITS),
        case(2, NOTHING, LAST_BITS),
        case(2, PARAMETERS, LAST_PARAMETER),
        case(2, PARAMETERS, REORDERED),
        case(2, PARAMETERS, LAST_SHARED),
        case(2, PARAMETERS, LAST_SHARED, kept=True),
        case(2, PARAMETERS, OTHER_UPDATES),
        case(2, PARAMETERS, SIGNED_ZERO),
        case(2, GRADIENTS, NOT_NUMBERS),
        case(2, PARAMETERS, NOT_NUMBERS),
    ]
    triples = [
        case(3, GRADIENTS, FIRST_SHARED),
        case(3, PARAMETERS, FIRST_SHARED, normalised=True),
        case(3, DRIVER, driver=2),
        case(3, NOTHING, FIRST_SHARED),
        case(3, PARAMETERS, RANK_TWO),
    ]
    draw.shuffle(pairs)
    draw.shuffle(triples)
    return (*pairs, *triples)

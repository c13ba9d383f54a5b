"""Models that have drifted apart on several ranks, and are to be averaged."""

from __future__ import annotations

import random
from dataclasses import dataclass

import torch
from torch import Tensor, nn

_WIDTH = 6


@dataclass(frozen=True)
class AveragingCase:
    """A small model on each rank; what is trained, or is a floating-point buffer, differs between the ranks.

    Besides its layers it trains `gain`, a single number, and `spare`, which no gradient has reached yet.

    Attributes:
        world_size: How many ranks.
        features: Features of a row.
        is_normalised: Whether it has a batch normalisation, a mask, and two more floating-point buffers: `offset`, a
            single number, and `history`, which is not persistent.
        is_tied: Whether two layers share one weight.
        is_frozen: Whether the first layer is frozen; its weights are the same on every rank.
        seed: Seed of the weights.
    """

    world_size: int
    features: int
    is_normalised: bool
    is_tied: bool
    is_frozen: bool
    seed: int

    def make_model(self, rank: int) -> nn.Sequential:
        """Build the model of a rank, with gradients, as it stands after some updates of its own."""
        generator = torch.Generator().manual_seed(self.seed)
        layers: list[nn.Module] = [nn.Linear(self.features, _WIDTH), nn.Tanh(), nn.Linear(_WIDTH, _WIDTH)]
        if self.is_normalised:
            layers.append(nn.BatchNorm1d(_WIDTH))
        layers += [nn.Linear(_WIDTH, _WIDTH), nn.Tanh(), nn.Linear(_WIDTH, 1)]
        with torch.random.fork_rng(devices=[]):
            model = nn.Sequential(*layers)
        if self.is_tied:
            layers[-3].weight = layers[2].weight
        if self.is_normalised:
            model.register_buffer("mask", torch.arange(_WIDTH) % 2 == rank % 2)
            model.register_buffer("offset", torch.zeros(()))
            model.register_buffer("history", torch.zeros(_WIDTH), persistent=False)
        model.register_parameter("gain", nn.Parameter(torch.zeros(())))
        model.register_parameter("spare", nn.Parameter(torch.zeros(_WIDTH)))
        layers[0].requires_grad_(not self.is_frozen)
        self._fill(model, generator, torch.Generator().manual_seed(self.seed + 1 + rank))
        dict(model.named_parameters())["spare"].grad = None
        for count in model.buffers():
            if count.dtype == torch.int64:
                count.fill_(10 + 2 * rank)
        return model

    def _fill(self, model: nn.Module, common: torch.Generator, own: torch.Generator) -> None:
        with torch.no_grad():
            for tensor in [*model.parameters(), *model.buffers()]:
                if not tensor.is_floating_point():
                    continue
                tensor.copy_(torch.rand(tensor.shape, generator=common) + 0.5)
                if tensor.requires_grad:
                    tensor.grad = torch.randn(tensor.shape, generator=own)
                if tensor.requires_grad or not isinstance(tensor, nn.Parameter):
                    tensor += torch.rand(tensor.shape, generator=own)


def vectors_of(model: nn.Module) -> dict[str, Tensor]:
    """Return what an average touches or must leave alone, each in one vector.

    Returns:
        "trained" and "frozen" parameters, a tied one once; "statistics" and "counts", buffers with and without
        fractions; "gradients".
    """
    parameters, buffers = list(model.parameters()), list(model.buffers())
    parts: dict[str, list[Tensor]] = {
        "trained": [one for one in parameters if one.requires_grad],
        "frozen": [one for one in parameters if not one.requires_grad],
        "statistics": [one for one in buffers if one.is_floating_point()],
        "counts": [one.long() for one in buffers if not one.is_floating_point()],
        "gradients": [one.grad for one in parameters if one.grad is not None],
    }
    return {
        name: torch.cat([torch.zeros(0), *(one.detach().flatten() for one in some)]) for name, some in parts.items()
    }


def averaging_cases(seed: int) -> tuple[AveragingCase, ...]:
    """Four settings, on two and on three ranks: parameters alone; then statistics, a tied weight, a frozen layer."""
    draw = random.Random(seed)
    features = draw.randrange(3, 8)
    return (
        AveragingCase(2, features, False, False, False, seed),
        AveragingCase(2, features, True, True, False, seed + 10),
        AveragingCase(3, features, True, False, True, seed + 20),
        AveragingCase(3, features, False, True, True, seed + 30),
    )

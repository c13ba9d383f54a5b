"""Three models of one shape: a start, a reference that was trained from it, and a model to compare with that."""

from __future__ import annotations

import random
from dataclasses import dataclass

import torch
from torch import nn

Models = tuple[nn.Module, nn.Module, nn.Module]  # model, reference, start


@dataclass(frozen=True)
class DistanceCase:
    """Weights of one size, a movement of the reference, and a difference between model and reference.

    Attributes:
        layers: Layers before the last one.
        scale: Size of a weight, within a fifth.
        movement: How far a typical weight of the reference moved.
        difference: How far a typical weight of the model is from the reference.
        seed: Seed of all weights.
        is_model_at_start: Whether the model has the weights of the start, whatever `difference` says.
    """

    layers: int
    scale: float
    movement: float
    difference: float
    seed: int
    is_model_at_start: bool = False

    def make_models(self) -> Models:
        """Build model, reference and start.

        Their first parameter is frozen, and they hold buffers, which differ.
        """
        with torch.random.fork_rng(devices=[]):
            model, reference, start = (self._make_module() for _ in range(3))
        generator = torch.Generator().manual_seed(self.seed)

        def drawn(size: float, like: nn.Parameter, least: float = 0.5) -> torch.Tensor:
            signs = torch.randn(like.shape, generator=generator).sign()
            return size * signs * (least + 2 * (1 - least) * torch.rand(like.shape, generator=generator))

        def spread() -> float:  # tensors move by unequal amounts
            return 0.3 + 1.4 * float(torch.rand((), generator=generator))

        triples = zip(model.parameters(), reference.parameters(), start.parameters(), strict=True)
        with torch.no_grad():
            for compared, wanted, began in triples:
                began.copy_(drawn(self.scale, began, least=0.8))
                wanted.copy_(began + drawn(self.movement * spread(), began))
                compared.copy_(began if self.is_model_at_start else wanted + drawn(self.difference * spread(), began))
            for number, module in enumerate((model, reference, start)):
                for name, buffer in module.named_buffers():
                    is_count = name.endswith("num_batches_tracked")
                    buffer.fill_(7 * number if is_count else self.scale * (number + 1))
        return model, reference, start

    def _make_module(self) -> nn.Sequential:
        layers: list[nn.Module] = []
        for _ in range(self.layers):
            layers += [nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Tanh()]
        module = nn.Sequential(*layers, nn.Linear(4, 2))
        next(module.parameters()).requires_grad_(False)
        return module


def distance_cases(seed: int) -> tuple[DistanceCase, ...]:
    """Return four settings: near, further away than the start, a small movement of large weights, and almost equal."""
    draw = random.Random(seed)
    return (
        DistanceCase(1, 1.0, 0.1, 0.1 * draw.uniform(0.2, 0.6), seed),
        DistanceCase(2, 1.0, 0.5, 0.5 * draw.uniform(2.0, 4.0), seed + 1),
        DistanceCase(1, 1000.0, 2e-3, 2e-3 * draw.uniform(0.3, 0.7), seed + 2),
        DistanceCase(3, 1.0, 1.0, draw.uniform(1e-5, 3e-5), seed + 3),
    )


def equal_case(seed: int) -> DistanceCase:
    """Return a case whose model and reference have the same weights."""
    return DistanceCase(1, 1.0, 0.1, 0.0, seed + 4)


def untrained_case(seed: int) -> DistanceCase:
    """Return a case whose model has the weights of the start."""
    return DistanceCase(2, 1.0, 0.1, 0.0, seed + 5, is_model_at_start=True)


def unmoved_cases(seed: int) -> tuple[DistanceCase, ...]:
    """Return two settings in which the reference has the weights of the start: the model has others, or the same."""
    return DistanceCase(1, 1.0, 0.0, 0.1, seed + 6), DistanceCase(2, 1.0, 0.0, 0.0, seed + 7)

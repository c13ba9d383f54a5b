"""Parameters whose optimizer state is predicted, shared by the lessons on optimizers."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

OPTIMIZERS = ("SGD", "SGD with momentum", "RMSProp", "AdamW")


Shape = tuple[int, ...]


@dataclass(frozen=True)
class TensorKind:
    """A parameter without its values: its shape, its format, and whether it is trained."""

    shape: Shape
    dtype: torch.dtype = torch.float32
    is_trained: bool = True

    @property
    def elements(self) -> int:
        """How many numbers it has."""
        return torch.Size(self.shape).numel()


@dataclass(frozen=True)
class StateCase:
    """Parameters that one of `OPTIMIZERS` updates.

    Attributes:
        optimizer: Its name.
        tensors: The parameters that it is handed.
    """

    optimizer: str
    tensors: tuple[TensorKind, ...]

    def make_parameters(self, device: str = "meta") -> list[nn.Parameter]:
        """Make the parameters, on the device "meta" without values."""
        return [
            nn.Parameter(torch.ones(kind.shape, dtype=kind.dtype, device=device), requires_grad=kind.is_trained)
            for kind in self.tensors
        ]

    def make_optimizer(self, parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
        """Make the optimizer of PyTorch that the case is about."""
        if self.optimizer == "RMSProp":
            return torch.optim.RMSprop(parameters)
        if self.optimizer == "AdamW":
            return torch.optim.AdamW(parameters)
        return torch.optim.SGD(parameters, lr=0.1, momentum=0.9 if self.optimizer == "SGD with momentum" else 0.0)


def distilbert_tensors() -> tuple[TensorKind, ...]:
    """Return the 104 parameters of `make_distilbert()`, in its order, without building it."""
    width, hidden = 768, 3072
    norm: list[Shape] = [(width,), (width,)]
    attention: list[Shape] = [(width, width), (width,)] * 4
    feed_forward: list[Shape] = [(hidden, width), (hidden,), (width, hidden), (width,)]
    embeddings: list[Shape] = [(28_996, width), (512, width), *norm]
    head: list[Shape] = [(width, width), (width,), (2, width), (2,)]
    layer = [*attention, *norm, *feed_forward, *norm]
    return tuple(TensorKind(shape) for shape in [*embeddings, *(6 * layer), *head])

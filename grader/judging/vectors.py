"""Models as vectors: weights in, gradient out."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from grader.observation import Observation


def gradient_at(model: nn.Module, loss: Callable[[int], Tensor], weights: Tensor, number: int) -> Tensor:
    """Return the gradient of `loss(number)` at given weights.

    Args:
        model: The model that `loss` calls; its weights are overwritten.
        loss: The loss of one micro-batch.
        weights: All parameters in one vector, in the order of `model.parameters()`.
        number: Which micro-batch.

    Returns:
        All gradients in one vector; a parameter that the loss does not reach counts as zero.
    """
    with torch.no_grad():
        nn.utils.vector_to_parameters(weights, model.parameters())
    parameters = list(model.parameters())
    with torch.enable_grad():
        gradients = torch.autograd.grad(loss(number), parameters, allow_unused=True, materialize_grads=True)
    return torch.cat([gradient.flatten() for gradient in gradients])


def tensors_of(observation: Observation, setting: int) -> dict[str, Tensor]:
    """Return the tensors of one setting, by their names in it."""
    prefix = f"{setting}."
    return {name.removeprefix(prefix): value for name, value in observation.tensors.items() if name.startswith(prefix)}

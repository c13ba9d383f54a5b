"""Measure how far apart two training runs ended."""

from __future__ import annotations

import torch
from torch import Tensor, nn


def measure_weight_distance(model: nn.Module, reference: nn.Module, start: nn.Module) -> float:
    """Measure how far apart two models ended, relative to how far the reference moved.

    Zero means equal weights, and 1 is as far away as a model that was not trained at all. All parameters count, frozen
    ones too; buffers do not. The three may be on different devices.

    Args:
        model: A trained model.
        reference: Another one of the same shapes, trained from the same start.
        start: The weights that both began with, as a model.

    Returns:
        Norm of the difference between all parameters of `model` and of `reference`, over the norm of that between
        `reference` and `start`.

    Raises:
        ValueError: if the parameters differ in number or shape, or if the reference has not moved.
    """
    shapes = [[tuple(parameter.shape) for parameter in each.parameters()] for each in (model, reference, start)]
    if not shapes[0] == shapes[1] == shapes[2]:
        raise ValueError("the three models must have the same parameters: build them by the same function")
    ended, wanted, began = _flat(model), _flat(reference), _flat(start)
    moved = torch.linalg.vector_norm(wanted - began)
    if not moved:
        raise ValueError("the reference has the weights of the start: train the reference first")
    return float(torch.linalg.vector_norm(ended - wanted) / moved)


def _flat(model: nn.Module) -> Tensor:
    """Return all parameters in one vector of float64 on the CPU."""
    return nn.utils.parameters_to_vector(model.parameters()).detach().cpu().double()

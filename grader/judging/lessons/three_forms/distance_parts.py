"""What the relative distance of two trained models is mistaken for: the right formula over some of their tensors."""

from __future__ import annotations

from collections.abc import Callable

from torch import nn

from grader.judging.lessons.three_forms.distance_reference import Choice, norm, pick
from grader.judging.numbers import Mistake
from grader.lessons.three_forms.distance import DistanceCase


def _of_some(choose: Choice) -> Callable[[DistanceCase], float]:
    """Return the distance over the tensors that `choose` takes out of each model."""

    def yields(case: DistanceCase) -> float:
        weights = pick(case, choose)
        return norm(weights.apart) / norm(weights.moved)

    return yields


_STATE = "state_dict() holds more than parameters: a BatchNorm counts and averages there"
_OF_SOME: tuple[tuple[str, str, Choice], ...] = (
    ("first_parameter_only", "all parameters count, not the first alone", lambda m: list(m.parameters())[:1]),
    (
        "last_parameter_only",
        "all parameters count: what does a loop leave behind?",
        lambda m: list(m.parameters())[-1:],
    ),
    (
        "trainable_only",
        "all parameters count: a frozen one that differs is the kind of fault to find",
        lambda m: [parameter for parameter in m.parameters() if parameter.requires_grad],
    ),
    (
        "biases_left_out",
        "all parameters count, biases too",
        lambda m: [parameter for parameter in m.parameters() if parameter.dim() > 1],
    ),
    (
        "biases_left_out",
        "all parameters count, biases too",
        lambda m: [parameter for name, parameter in m.named_parameters() if "weight" in name],
    ),
    (
        "linear_layers_only",
        "all parameters count, whatever their module is called",
        lambda m: [p for layer in m.modules() if isinstance(layer, nn.Linear) for p in layer.parameters()],
    ),
    ("buffers_included", _STATE, lambda m: list(m.state_dict().values())),
    ("buffers_included", _STATE, lambda m: [t for t in m.state_dict().values() if t.is_floating_point()]),
)

OF_SOME_TENSORS: tuple[Mistake[DistanceCase], ...] = tuple(
    Mistake(code, _of_some(choose), look_at) for code, look_at, choose in _OF_SOME
)

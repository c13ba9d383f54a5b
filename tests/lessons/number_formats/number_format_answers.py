"""Right answers to the exercises of lesson 04, and the observations that they lead to."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from grader.lessons.number_formats.rounding import RoundingCase
from grader.observation import Observation, decode_observation, encode_observation

SEEDS = (0, 20011)


def observe(tensors: Sequence[Tensor]) -> Observation:
    """Observe one tensor for each case, and send it as a class does."""
    plain = {str(index): tensor for index, tensor in enumerate(tensors)}
    return decode_observation(encode_observation(Observation(tensors=plain)))


def rounded(cases: Sequence[RoundingCase], way: Callable[[float, RoundingCase], float]) -> Observation:
    """Observe what a way to round makes of all values."""
    return observe([torch.tensor([way(v, case) for v in case.values], dtype=torch.float64) for case in cases])

"""What the ranks of a check reported, as its judges read it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from grader.judging.equivalence import RELATIVE_TOLERANCE
from grader.observation import Observation

Facts = Mapping[str, Any]


def facts_of(observation: Observation, setting: int, world_size: int) -> list[Facts]:
    """Return what each rank of a setting reported.

    Raises:
        ValueError: Another number of ranks reported.
    """
    reports: Sequence[Facts] = observation.facts["settings"][setting]
    if len(reports) != world_size:
        raise ValueError(f"{len(reports)} ranks reported, of {world_size}")
    return list(reports)


def bytes_of(calls: Iterable[Sequence[Any]], *names: str) -> int:
    """Return the bytes that a rank put into collectives of these names."""
    return sum(int(byte_count) for name, byte_count in calls if name in names)


def is_near(answer: Any, value: Any) -> bool:
    """Return whether tensors agree in norm; those of a mapping part by part."""
    if isinstance(value, Mapping):
        return all(is_near(answer[name], part) for name, part in value.items())
    if not isinstance(answer, Tensor) or answer.shape != value.shape or not bool(torch.isfinite(answer).all()):
        return False
    distance = torch.linalg.vector_norm(answer.double() - value.double())
    return bool(distance <= RELATIVE_TOLERANCE * torch.linalg.vector_norm(value.double()))

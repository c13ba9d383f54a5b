"""What the ranks of a check reported, as its judges read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

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


def tensors_of(observation: Observation, setting: int, world_size: int, name: str) -> list[Tensor]:
    """Return a tensor of each rank of a setting.

    Raises:
        LookupError: A rank has none.
    """
    return [observation.tensors[f"{setting}.{rank}.{name}"] for rank in range(world_size)]

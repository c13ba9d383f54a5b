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


def tensors_of_rank(observation: Observation, setting: int, rank: int) -> dict[str, Tensor]:
    """Return the tensors of a rank of one setting, by their names in it."""
    prefix = f"{setting}.{rank}."
    return {name.removeprefix(prefix): value for name, value in observation.tensors.items() if name.startswith(prefix)}


def bytes_of(calls: Sequence[Sequence[Any]]) -> int:
    """Return the bytes of collectives, each given as its name and its bytes."""
    return sum(int(byte_count) for _, byte_count in calls)


def all_reduces(calls: Sequence[Sequence[Any]]) -> list[int]:
    """Return the bytes of each all-reduce among collectives."""
    return [int(byte_count) for name, byte_count in calls if name == "all_reduce"]

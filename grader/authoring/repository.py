"""Find the root folder of the course, and its address for Colab."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from .errors import AuthoringError

SETTINGS = "pyproject.toml"
TABLE = "lean-training"


@dataclass(frozen=True)
class RepositoryAddress:
    """Where a notebook finds the course on the network.

    Attributes:
        repository: "owner/name" on GitHub.
        branch: The branch that Colab opens and installs.
    """

    repository: str
    branch: str


def find_root(start: Path) -> Path:
    """Return the nearest folder at or above `start` whose pyproject.toml has the table [tool.lean-training].

    Raises:
        AuthoringError: if neither it nor a folder above the installed package has one.
    """
    package = Path(__file__).resolve()
    for folder in (start, *start.resolve().parents, *package.parents):
        if _settings(folder / SETTINGS):
            return folder
    message = (
        f"no {SETTINGS} with [tool.{TABLE}] at or above {start}. Run the command in a clone of the course's repository."
    )
    raise AuthoringError(message)


def repository_address(source_path: Path) -> RepositoryAddress:
    """Return the address that pyproject.toml gives for the course of a source.

    Raises:
        AuthoringError: if the setting is missing or incomplete.
    """
    root = find_root(source_path.parent)
    settings = _settings(root / SETTINGS)
    try:
        return RepositoryAddress(settings["repository"], settings["branch"])
    except KeyError as missing:
        raise AuthoringError(f"{root / SETTINGS}: [tool.{TABLE}] lacks {missing}. Add it.") from None


@cache
def _settings(path: Path) -> dict[str, str]:
    if not path.is_file():
        return {}
    table = tomllib.loads(path.read_text(encoding="utf-8")).get("tool", {}).get(TABLE, {})
    return {key: str(value) for key, value in table.items()}

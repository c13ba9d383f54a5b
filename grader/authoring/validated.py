"""Which lessons have been validated as they stand now, and which few answers a test run still tries."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .banks import FOLDERS, WRONG, Entry, read_banks
from .reached import reached_files
from .release import SOURCES, write_whole

RECORD = Path("tests/validated.json")
DAYS = 14  # in which test runs try one answer per message of a validated lesson


@dataclass(frozen=True)
class Validated:
    """What a full validation of one lesson found.

    Attributes:
        content: Hash of all that the lesson's points depend on.
        one_per_message: For each misconception code, the file name of one wrong answer that is told it.
    """

    content: str
    one_per_message: dict[str, str]


def content_hash(root: Path, stem: str) -> str:
    """Hash all that a lesson's points depend on: its source, its banks, and what it reaches of the package."""
    source = root / SOURCES / f"{stem}.py"
    banks = [path for folder in FOLDERS.values() for path in sorted((root / folder / stem).glob("*.py"))]
    digest = hashlib.sha256()
    for path in [source, *banks, *reached_files(root, source)]:
        digest.update(f"{path.relative_to(root).as_posix()}\n".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def read_record(root: Path) -> dict[str, Validated]:
    """Read `tests/validated.json`; {} where it is missing."""
    path = root / RECORD
    entries: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return {stem: Validated(**entry) for stem, entry in entries.items()}


def write_record(root: Path, found: dict[str, Validated]) -> None:
    """Add what was found to `tests/validated.json`, and drop lessons that are gone."""
    record = read_record(root) | found
    kept = {stem: vars(entry) for stem, entry in sorted(record.items()) if (root / SOURCES / f"{stem}.py").is_file()}
    write_whole(root / RECORD, json.dumps(kept, indent=1) + "\n")


def entries_to_try(root: Path, stem: str, day: int) -> Sequence[Entry]:
    """Return the answers that a test run tries: the full banks, or a few of a lesson that was validated as it stands.

    What was validated can change with the libraries alone. So two weeks of test runs try one wrong answer per message,
    in the order of their names: each run has answers to few exercises, and leaves the others alone.

    Args:
        root: The repository.
        stem: The lesson's name.
        day: Number of the day, which chooses the few.
    """
    entries = read_banks(root, stem)
    validated = read_record(root).get(stem)
    if validated is None or validated.content != content_hash(root, stem):
        return entries
    names, place = sorted(validated.one_per_message.values()), day % DAYS
    names = names[place * len(names) // DAYS : (place + 1) * len(names) // DAYS]
    return [entry for entry in entries if entry.kind == WRONG and entry.path.name in names]

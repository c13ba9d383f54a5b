"""Build `course/` and `grader/lessons.json` from `solutions/`, or report what differs."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import AuthoringError, BuildError, Problem
from .lesson import build_release, lesson_points, read_lesson
from .notebook import notebook_text
from .objectives import read_objectives
from .reached import registry_problems
from .template import template_problems

SOURCES, COURSE, POINTS = Path("solutions"), Path("course"), Path("grader/lessons.json")


@dataclass(frozen=True)
class Change:
    """A file that is out of date with the sources.

    Attributes:
        path: The file, below the root.
        state: "missing", "differs" or "has no source".
        text: What it should hold; None if it should not exist.
    """

    path: Path
    state: str
    text: str | None


def select_sources(root: Path, lessons: Sequence[str] = ()) -> list[Path]:
    """Return the sources of the lessons asked for, all of them if none is named.

    Args:
        root: The repository.
        lessons: Numbers or stems, for example "02" or "02_gradient_accumulation".

    Returns:
        Paths in the order of the course.

    Raises:
        AuthoringError: if a name matches no source.
    """
    every_source = sorted((root / SOURCES).glob("*.py"))
    chosen: set[Path] = set()
    for name in lessons:
        stem = Path(name).stem
        found = [source for source in every_source if source.stem == stem or source.stem.split("_")[0] == stem]
        if not found:
            known = ", ".join(source.stem for source in every_source) or "none"
            raise AuthoringError(f"no lesson '{name}' in {root / SOURCES}. Lessons there: {known}.")
        chosen.update(found)
    return sorted(chosen) if lessons else every_source


def find_changes(root: Path, lessons: Sequence[str] = ()) -> list[Change]:
    """Build everything in memory and compare it with the files.

    Args:
        root: The repository.
        lessons: Numbers or stems; all if none is named.

    Returns:
        The files that are missing, differ, or have no source, in order.

    Raises:
        BuildError: with every fault in every source; nothing is written.
    """
    sources = select_sources(root, lessons)
    texts, entries = _build(sources)
    if lessons:
        entries = _known_entries(root) | entries
    texts[POINTS] = json.dumps(dict(sorted(entries.items())), indent=1, ensure_ascii=False) + "\n"
    changes = [Change(path, state, text) for path, text in texts.items() if (state := _state(root / path, text))]
    if not lessons:
        built = {root / path for path in texts}
        stale = [path for path in sorted((root / COURSE).glob("*.ipynb")) if path not in built]
        changes += [Change(path.relative_to(root), "has no source", None) for path in stale]
    return sorted(changes, key=lambda change: change.path)


def _build(sources: Sequence[Path]) -> tuple[dict[Path, str], dict[str, Any]]:
    texts: dict[Path, str] = {}
    entries: dict[str, Any] = {}
    problems: list[Problem] = []
    for source in sources:
        try:
            lesson = read_lesson(source)
            found = [*template_problems(lesson), *registry_problems(lesson)]
            if found:  # objectives with faults cannot be read
                problems += found
                continue
            texts[COURSE / f"{source.stem}.ipynb"] = notebook_text(build_release(source))
            stated = [{"text": stated.text, "exercises": stated.exercises} for stated in read_objectives(lesson)]
            entries[source.stem] = {"title": lesson.title, "objectives": stated, "checks": lesson_points(source)}
        except BuildError as error:
            problems += error.problems
    if problems:
        raise BuildError(problems)
    return texts, entries


def _known_entries(root: Path) -> dict[str, Any]:
    path = root / POINTS
    known: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return known


def _state(path: Path, text: str) -> str:
    if not path.is_file():
        return "missing"
    return "" if path.read_bytes() == text.encode() else "differs"


def write_changes(root: Path, changes: Sequence[Change]) -> None:
    """Bring the files up to date; each is replaced whole, so an interruption leaves no half-written file."""
    for change in changes:
        path = root / change.path
        if change.text is None:
            path.unlink()
        else:
            write_whole(path, change.text)


def write_whole(path: Path, text: str) -> None:
    """Write a temporary file in the same folder, then rename it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_text(text, encoding="utf-8", newline="\n")
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)

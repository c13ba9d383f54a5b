"""Keep runs under a key of everything they depend on, so that grading again runs only what changed."""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from grader.classroom.base.storage import STATE, write_text
from grader.classroom.running.execution import Execution

from .job import Job
from .surroundings import grader_digest, versions

FORMAT = 1
FOLDER = f"{STATE}/results"
GRADINGS = f"{STATE}/gradings.json"
KEPT_GRADINGS = 2  # the runs of these many gradings of a lesson stay


class Results:
    """The kept runs of one classroom, during one grading."""

    def __init__(self, classroom: Path, device: str, *, is_again: bool = False):
        """Open the kept runs.

        Args:
            classroom: The folder.
            device: What the notebooks run on, as `local_device` names it.
            is_again: Whether to pass over the runs that were kept by earlier gradings.
        """
        self.classroom = classroom
        self.is_again = is_again
        self._surroundings = {"grader": grader_digest(), "versions": versions(), "device": device}
        self._used: dict[str, set[str]] = {}
        self._made: set[str] = set()

    def key(self, job: Job) -> str:
        """Return the key of a job's run: a digest of all that the run depends on.

        The path of the classroom, which a run must not see, does not matter.
        """
        digests = {name: hashlib.sha256(content).digest() for name, content in job.support.items()}
        plain = dataclasses.replace(job, support=digests, hidden=()).to_json()
        return _digest(json.dumps({"job": plain} | self._surroundings, sort_keys=True))

    def read(self, lesson: str, key: str) -> Execution | None:
        """Return the kept run, or None if there is none, or its file is damaged."""
        self._used.setdefault(lesson, set()).add(key)
        if self.is_again and key not in self._made:
            return None
        try:
            kept = json.loads(self._path(key).read_text(encoding="utf-8"))
            if kept["format"] != FORMAT or kept["digest"] != _digest(_text(kept["execution"])):
                return None
            return Execution.from_json(kept["execution"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None

    def is_from_before(self, key: str) -> bool:
        """Return whether a run was made by an earlier grading."""
        return key not in self._made

    def write(self, key: str, execution: Execution) -> None:
        """Keep a run, unless the machine, and not the notebook, made it what it is."""
        self._made.add(key)
        if execution.is_final:
            plain = execution.to_json()
            made = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
            kept = {"format": FORMAT, "made": made, "digest": _digest(_text(plain)), "execution": plain}
            write_text(self._path(key), json.dumps(kept), mode=0o600)

    def prune(self, lessons: Iterable[str]) -> None:
        """Note which runs a whole grading used, and delete those that none of the last gradings did.

        Args:
            lessons: All lessons of the classroom; runs of others go.
        """
        path = self.classroom / GRADINGS
        earlier = _read_gradings(path)
        gradings = {lesson: earlier.get(lesson, []) for lesson in lessons}
        for lesson, keys in self._used.items():
            gradings[lesson] = [*gradings.get(lesson, []), sorted(keys)][-KEPT_GRADINGS:]
        write_text(path, json.dumps(gradings))
        kept = {key for lists in gradings.values() for keys in lists for key in keys}
        for file in (self.classroom / FOLDER).glob("*.json"):
            if file.stem not in kept:
                file.unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        return self.classroom / FOLDER / f"{key}.json"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _text(plain: dict[str, Any]) -> str:
    return json.dumps(plain, sort_keys=True)


def _read_gradings(path: Path) -> dict[str, list[list[str]]]:
    try:
        gradings = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return gradings if isinstance(gradings, dict) else {}

"""Parse student and lesson from the names that learning management systems give to collected files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from nbgrader.plugins import FileNameCollectorPlugin

from grader.classroom.base.storage import plain_name

_LESSON = r"(?P<file_id>\d\d_[a-z0-9_]+?|attempts)(?:-\d+| ?\(\d+\))?\.(?:ipynb|jsonl)$"
# The folder and the name of a file; the first pattern that fits counts.
PATTERNS = (
    # Moodle: "Ada Lovelace_12345_assignsubmission_file/04_number_formats.ipynb", one folder for each student.
    re.compile(rf"^[^/]*_(?P<student_id>\d+)_assignsubmission_file_?/{_LESSON}"),
    # The same without folders.
    re.compile(rf"^[^/]*/[^/]*_(?P<student_id>\d+)_assignsubmission_file_{_LESSON}"),
    # Blackboard: "<assignment>_<login>_attempt_2026-01-30-15-00-00_04_number_formats.ipynb".
    re.compile(
        rf"^[^/]*/.*_(?P<student_id>[^_/]+)_attempt_"
        rf"(?P<day>\d{{4}}-\d\d-\d\d)-(?P<hour>\d\d)-(?P<minute>\d\d)-(?P<second>\d\d)_{_LESSON}"
    ),
    # Canvas: "lovelaceada_LATE_1234_5678_04_number_formats-1.ipynb": name, user's number, submission's number.
    re.compile(rf"^[^/]*/[^/_]+(?:_LATE)?_(?P<student_id>\d+)_\d+_{_LESSON}"),
    # Plain: "<student>_04_number_formats.ipynb", or a folder for each student.
    re.compile(rf"^[^/]*/(?P<student_id>[^/]+?)_{_LESSON}"),
    re.compile(rf"^(?P<student_id>[^/]+)/{_LESSON}"),
)
NO_FOLDER = re.compile(r"^\.|/")  # of a student: it would be hidden, or outside `submitted`


class LmsNames(FileNameCollectorPlugin):  # type: ignore[misc]
    """For `nbgrader zip_collect`: Canvas, Moodle and Blackboard, and "<student>_<lesson>.ipynb".

    A student is named by the number that Canvas or Moodle gives, by the login on Blackboard. With `named_regexp` set,
    that expression alone counts, as in nbgrader.
    """

    valid_ext = (".ipynb", ".jsonl")

    def __init__(self, **settings: Any):
        super().__init__(**settings)
        self._names: dict[tuple[str, str], set[str]] = {}

    def _match(self, filename: str) -> dict[str, str] | None:
        name = _last_two(filename)
        facts: dict[str, str] | None = super()._match(filename) if self.named_regexp else _facts(name)
        if facts is None and not self.named_regexp:
            remedy = "Rename it to <student>_<lesson>.ipynb, or set named_regexp."
            self.log.warning("%s has an unknown form of name. %s", plain_name(name), remedy)
        if facts is None or NO_FOLDER.search(facts.get("student_id", "")):
            return None  # nbgrader reports the file as skipped
        is_own = self.named_regexp or "timestamp" in facts
        return facts if is_own else self._told_apart(Path(filename), facts)

    def _told_apart(self, path: Path, facts: dict[str, str]) -> dict[str, str]:
        """Number the earlier ones of several files of one student, which nbgrader would refuse together with the class.

        The last one, by the numbers in the names, keeps the lesson's name, and so counts.
        """
        same = [other for other in path.parent.glob(f"*{path.suffix}") if _facts(_last_two(str(other))) == facts]
        later = sum(_numbers(other) > _numbers(path) for other in same)
        while (name := f"{facts['file_id']} ({later + 1})" if later else facts["file_id"]) in self._given(facts, path):
            later += 1
        self._given(facts, path).add(name)
        return facts | {"file_id": name}

    def _given(self, facts: dict[str, str], path: Path) -> set[str]:
        """Return the names that files of this student and kind already have."""
        return self._names.setdefault((facts["student_id"], path.suffix), set())


def _last_two(filename: str) -> str:
    """Return the folder and the name of a file."""
    return "/".join(filename.replace("\\", "/").split("/")[-2:])


def _numbers(path: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", path.name)]


def _facts(name: str) -> dict[str, str] | None:
    """Return what the first pattern that fits reads from a name; None if none fits."""
    found = next((matched.groupdict() for pattern in PATTERNS if (matched := pattern.match(name))), None)
    if found is None:
        return None
    facts = {"student_id": found["student_id"], "file_id": found["file_id"]}
    if "day" in found:
        facts["timestamp"] = f"{found['day']} {found['hour']}:{found['minute']}:{found['second']}"
    return facts

"""Parse student and lesson from the names that learning management systems give to collected files."""

from __future__ import annotations

import re

from nbgrader.plugins import FileNameCollectorPlugin

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


class LmsNames(FileNameCollectorPlugin):  # type: ignore[misc]
    """For `nbgrader zip_collect`: Canvas, Moodle and Blackboard, and "<student>_<lesson>.ipynb".

    A student is named by the number that Canvas or Moodle gives, by the login on Blackboard. With `named_regexp` set,
    that expression alone counts, as in nbgrader.
    """

    valid_ext = (".ipynb", ".jsonl")

    def _match(self, filename: str) -> dict[str, str] | None:
        if self.named_regexp:
            matched: dict[str, str] | None = super()._match(filename)
            return matched
        name = "/".join(filename.replace("\\", "/").split("/")[-2:])
        for pattern in PATTERNS:
            if found := pattern.match(name):
                return _facts(found.groupdict())
        self.log.warning(
            "%s has an unknown form of name. Rename it to <student>_<lesson>.ipynb, or set named_regexp.", name
        )
        return None


def _facts(found: dict[str, str]) -> dict[str, str]:
    facts = {"student_id": found["student_id"], "file_id": found["file_id"]}
    if "day" in found:
        facts["timestamp"] = f"{found['day']} {found['hour']}:{found['minute']}:{found['second']}"
    return facts

"""Record when a classroom received each submission, in a file that no submission can write."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable
from pathlib import Path

from grader.classroom.base.errors import ClassroomError
from grader.classroom.base.row import read_rows
from grader.classroom.base.storage import write_table
from grader.classroom.base.tables import read_table, require_columns

from .intake import Submission

FILE = "received.csv"
DIGEST = re.compile(r"([0-9a-f]{64})?")  # none where nothing could be read
HEADER = ("student", "lesson", "digest", "received")
Times = dict[tuple[str, str, str], str]  # (student, lesson, digest of the bytes) -> UTC, as text


def received_times(classroom: Path) -> Times:
    """Return when each content was first seen; an instructor may correct the times in `received.csv`.

    Raises:
        ClassroomError: if the table was damaged.
    """
    path = classroom / FILE
    if not path.exists():  # a classroom that was graded before it kept this record
        return {(row.student, row.lesson, row.digest): row.received for row in read_rows(classroom) if row.received}
    header, lines = read_table(path)
    require_columns(path, header, HEADER)
    for line in lines:
        where = f"{path}, {line['student']}"
        parsed_time(line.get("received", ""), where)
        if not DIGEST.fullmatch(line.get("digest", "")):
            raise ClassroomError(
                f"{where}: {line.get('digest', '')!r} is no digest of a file: did a spreadsheet change it? Restore the "
                "table, or delete the line; what was handed in then counts as received when it is next seen."
            )
    return {(line["student"], line["lesson"], line.get("digest", "")): line["received"] for line in lines}


def stamp(classroom: Path, submissions: Iterable[Submission]) -> Times:
    """Record the time of contents that were never seen before, and return the times of all."""
    times = received_times(classroom)
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    fresh = {(found.student, found.lesson, found.digest): now for found in submissions}
    if not set(fresh) <= set(times) or not (classroom / FILE).exists():
        times = fresh | times
        write_table(classroom / FILE, HEADER, [(*key, received) for key, received in times.items()])
    return times


def parsed_time(text: str, where: str) -> datetime.datetime:
    """Return a time as UTC without a zone, as nbgrader keeps it; a time without a zone is UTC.

    Raises:
        ClassroomError: if it is no time; `where` names the file and the line.
    """
    try:
        found = datetime.datetime.fromisoformat(text)
        return found.astimezone(datetime.UTC).replace(tzinfo=None) if found.tzinfo else found
    except (ValueError, OverflowError):
        raise ClassroomError(f"{where}: {text!r} is no time. Write it like 2026-03-15T17:00:00+00:00.") from None

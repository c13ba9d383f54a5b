"""Files that are either the old version or the new one, never half of it."""

from __future__ import annotations

import contextlib
import csv
import fcntl
import io
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from .errors import locked_gradebook
from .scratch import PART

SMALL_FILE_BYTES = 2**20
STATE = ".grading"  # the folder of what a classroom keeps for itself


def write_text(path: Path, text: str, *, mode: int = 0o644) -> None:
    """Write a file by way of a temporary one beside it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=PART)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def write_table(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a CSV file with one header line."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(header)
    table.writerows(rows)
    write_text(path, text.getvalue())


def one_line(text: str, limit: int = 300) -> str:
    """Return text of a learner's as one printable line: no control characters, at most `limit` characters."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text[: 4 * limit]).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def require_space(classroom: Path) -> None:
    """Raise the error of a full disk if there is no room for a further file in the classroom."""
    path = classroom / STATE / "room"
    try:
        write_text(path, " " * SMALL_FILE_BYTES)
    finally:
        path.unlink(missing_ok=True)


@contextlib.contextmanager
def only_run(classroom: Path) -> Iterator[None]:
    """Hold the classroom, so that two gradings do not write at once.

    Raises:
        ClassroomError: if another one holds it.
    """
    path = classroom / STATE / "lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise locked_gradebook(classroom) from None
        yield

"""Write files atomically, lock a classroom, and keep scratch folders that are removed even after a kill."""

from __future__ import annotations

import atexit
import contextlib
import csv
import fcntl
import functools
import hashlib
import io
import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from .errors import locked_gradebook

SMALL_FILE_BYTES = 2**20
STATE = ".grading"  # the folder for a classroom's own records
LONGEST_NAME_BYTES = 240  # file systems hold 255
PREFIX = "lean-training-"
LOCK = "lean-training.lock"  # a folder without it is not ours
PART = ".part"  # suffix of a file that is being written
STALE_SECONDS = 60


def write_text(path: Path, text: str, *, mode: int = 0o644) -> None:
    """Write a text atomically, in UTF-8."""
    write_bytes(path, text.encode(), mode=mode)


def write_bytes(path: Path, content: bytes, *, mode: int = 0o644) -> None:
    """Write a file atomically, through a temporary file in the same folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=PART)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
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
    """Return untrusted text as one printable line of at most `limit` characters."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text[: 4 * limit]).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def plain_name(name: str) -> str:
    """Return a file's name in printable characters that every table, page and terminal can hold.

    A name of printable text stays as it is; in any other one, "%" and two digits replace each byte that is none.
    """
    if name.isprintable():
        return name
    parts = (c if c.isprintable() and c != "%" else "".join(f"%{byte:02X}" for byte in os.fsencode(c)) for c in name)
    plain = "".join(parts)
    if len(plain.encode()) <= LONGEST_NAME_BYTES:
        return plain
    return f"{plain[:100]}~{hashlib.sha256(os.fsencode(name)).hexdigest()[:16]}"


def require_space(classroom: Path) -> None:
    """Raise the error of a full disk if the classroom has no room for another file."""
    path = classroom / STATE / "room"
    try:
        write_text(path, " " * SMALL_FILE_BYTES)
    finally:
        path.unlink(missing_ok=True)


@contextlib.contextmanager
def only_run(classroom: Path) -> Iterator[None]:
    """Lock the classroom, so that two gradings never write at once.

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


@functools.cache
def scratch_folder() -> Path:
    """Return the scratch folder of this process, removed when the process ends or, if it is killed, by the next one."""
    remove_stale_folders()
    # It is renamed once it is locked, so that no other process mistakes it for a stale one.
    unlocked = Path(tempfile.mkdtemp(prefix=f".{PREFIX}"))
    descriptor = os.open(unlocked / LOCK, os.O_CREAT | os.O_RDWR, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)  # held until the process ends, however it ends
    folder = unlocked.with_name(unlocked.name.removeprefix("."))
    unlocked.rename(folder)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def remove_stale_folders() -> None:
    """Remove the folders of this user's processes that were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f".{PREFIX}*"):
        with contextlib.suppress(OSError):
            if folder.lstat().st_uid == os.geteuid() and _is_stale(folder):
                shutil.rmtree(folder, ignore_errors=True)
    for lock in Path(tempfile.gettempdir()).glob(f"{PREFIX}*/{LOCK}"):
        with contextlib.suppress(OSError):  # another user's, or gone meanwhile
            if lock.parent.is_symlink() or lock.stat().st_uid != os.geteuid():
                continue
            with lock.open("r+") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(lock.parent, ignore_errors=True)


def remove_stale_parts(classroom: Path) -> None:
    """Remove the unfinished files that a killed grading left in a classroom."""
    for pattern in (f".*{PART}", f"source/*/.*{PART}", f".grading/**/.*{PART}"):
        for path in classroom.glob(pattern):
            with contextlib.suppress(FileNotFoundError):
                if _is_stale(path):
                    path.unlink()


def _is_stale(path: Path) -> bool:
    return time.time() - path.lstat().st_mtime > STALE_SECONDS

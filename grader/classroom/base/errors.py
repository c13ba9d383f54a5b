"""Errors that stop a classroom command; each message names the remedy."""

from __future__ import annotations

import contextlib
import errno
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from traitlets import TraitError

FULL_DISK = {errno.ENOSPC, errno.EDQUOT}
CLOSED = {
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS, errno.EIO), "Make it writable, then go on."),
    errno.ENOTDIR: "A part of this path is a file. Move it away or name another folder.",
    **dict.fromkeys((errno.EMFILE, errno.ENFILE), "Close other programs, or allow more open files with `ulimit -n`."),
}


class ClassroomError(Exception):
    """A command cannot go on; the message says what to do."""

    exit_code = 2


def stopping_error(error: BaseException | None, classroom: Path) -> ClassroomError | None:
    """Return the error that stops the class if the machine is at fault, not one submission.

    Args:
        error: What was raised; its causes are examined too.
        classroom: The folder, named in the message.

    Returns:
        The error to stop with, or None if it concerns one submission only.
    """
    seen: set[int] = set()
    while error is not None and id(error) not in seen:  # a chain of causes can be a loop
        seen.add(id(error))
        if isinstance(error, OSError) and error.errno in FULL_DISK:
            return _full_disk(str(classroom))
        if isinstance(error, OSError) and error.errno in CLOSED:
            fault = f"{error.filename}: {error.strerror}"
            return ClassroomError(f"{classroom} cannot be used ({fault}). {CLOSED[error.errno]}")
        if isinstance(error, TraitError):
            fault = re.sub(r" of <[^>]*>( instance)?", "", str(error))  # the object's address helps nobody
            return ClassroomError(f"{classroom}/nbgrader_config.py cannot be used: {fault}. Correct it there.")
        if isinstance(error, sqlite3.Error):
            return _gradebook_error(error, classroom)
        error = getattr(error, "orig", None) or error.__cause__ or error.__context__
    return None


def _gradebook_error(error: sqlite3.Error, classroom: Path) -> ClassroomError:
    if "full" in str(error):
        return _full_disk(f"{classroom}/gradebook.db")
    if "locked" in str(error):
        return locked_gradebook(classroom)
    return ClassroomError(
        f"The gradebook {classroom}/gradebook.db cannot be used: {error}. Copy it to a safe place, "
        "then run `nbgrader db upgrade` in the classroom, or restore your last copy."
    )


def _full_disk(path: str) -> ClassroomError:
    return ClassroomError(f"The disk is full: {path} cannot be written. Free some space, then grade again.")


@contextlib.contextmanager
def explained_errors(classroom: Path) -> Iterator[None]:
    """Turn errors that stop the class into a `ClassroomError` that says what to do; raise all others unchanged."""
    try:
        yield
    except ClassroomError:
        raise
    except Exception as error:
        stop = stopping_error(error, classroom)
        if stop is None:
            raise
        raise stop from error


def locked_gradebook(classroom: Path) -> ClassroomError:
    """Return the error for a gradebook that another program holds."""
    return ClassroomError(
        f"The gradebook {classroom}/gradebook.db is locked by another program. "
        "Close formgrader and any other grading run of this classroom, then grade again."
    )

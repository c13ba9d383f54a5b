"""An error that stops a class names its remedy; any other error is raised unchanged, whatever caused it."""

from __future__ import annotations

import errno
import sqlite3
from pathlib import Path

import pytest

from grader.classroom.base.errors import ClassroomError, explained_errors, stopping_error


def test_a_full_disk_is_reported_even_as_the_cause_of_another_error(tmp_path: Path) -> None:
    with pytest.raises(ClassroomError, match=r"The disk is full: .* Free some space, then grade again\."):
        with explained_errors(tmp_path):
            try:
                raise OSError(errno.ENOSPC, "no space left")
            except OSError as error:
                raise RuntimeError("a page could not be written") from error


def test_a_locked_gradebook_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ClassroomError, match="is locked by another program"):
        with explained_errors(tmp_path):
            raise sqlite3.OperationalError("database is locked")


def test_a_file_of_the_classroom_that_is_closed_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ClassroomError, match=r"cannot be used \(autograded: .*\)\. Make it writable, then go on\."):
        with explained_errors(tmp_path):
            raise OSError(errno.EROFS, "read-only", "autograded")


def test_another_error_passes_as_it_is(tmp_path: Path) -> None:
    raised = OSError(errno.ENOENT, "not there")
    with pytest.raises(OSError, match="not there") as caught:
        with explained_errors(tmp_path), explained_errors(tmp_path):
            raise raised
    assert caught.value is raised


def test_a_chain_of_causes_that_leads_back_to_its_beginning_ends(tmp_path: Path) -> None:
    first, second = OSError("first"), OSError("second")
    first.__cause__, second.__cause__ = second, first
    assert stopping_error(first, tmp_path) is None

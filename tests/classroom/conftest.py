"""Classrooms of the small lesson, and one class that is graded once."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from small_class import NewRoom, fill, make_room

from grader.classroom.base.row import Row
from grader.classroom.commands.grading import Grading, grade_class


@pytest.fixture(scope="session")
def new_room(tmp_path_factory: pytest.TempPathFactory) -> NewRoom:
    """Return a function that makes a classroom: a copy of a first one, since it may be moved."""
    template = make_room(tmp_path_factory.mktemp("template") / "room")
    return lambda: Path(shutil.copytree(template, tmp_path_factory.mktemp("class") / "room"))


@pytest.fixture(scope="session")
def graded_room(new_room: NewRoom) -> tuple[Path, Grading]:
    room = new_room()
    fill(room)
    return room, grade_class(room, jobs=2, settings={"cell_seconds": 3})


@pytest.fixture(scope="session")
def rows(graded_room: tuple[Path, Grading]) -> dict[str, Row]:
    return {row.student: row for row in graded_room[1].rows}

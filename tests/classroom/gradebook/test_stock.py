"""nbgrader's own commands work in a classroom, and grade alike."""

from __future__ import annotations

import csv
import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest
from nbgrader.api import Gradebook
from small_class import NOISY, copied, release_of, tagged, without
from small_course import LESSON, answer, from_colab, hand_in, solved

from grader.classroom.running.fork_client import PROVISIONER, PROVISIONER_VARIABLE

pytestmark = pytest.mark.slow


def nbgrader(room: Path, *words: str) -> str:
    scripts = sysconfig.get_path("scripts")
    environment = os.environ | {"PATH": os.pathsep.join([scripts, os.environ["PATH"]])}
    command = [sys.executable, "-m", "nbgrader", *words]
    done = subprocess.run(command, cwd=room, env=environment, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def scores(room: Path) -> dict[str, float]:
    with Gradebook(f"sqlite:///{room}/gradebook.db") as gradebook:
        return {found.student_id: found.score for found in gradebook.assignment_submissions(LESSON)}


@pytest.fixture(scope="module")
def stock_room(new_room: Callable[[], Path]) -> Path:
    room = new_room()
    release = release_of(room)
    done = solved(release)
    hand_in(room, "solved", done)
    hand_in(room, "untouched", release)
    hand_in(room, "tagged", tagged(release))
    hand_in(room, "copied", copied(release))
    hand_in(room, "deleted", without(done, "given_small", "check_double"))
    hand_in(room, "stripped", from_colab(done))
    hand_in(room, "noisy", answer(done, "double", NOISY))
    hand_in(room, "cut", "{")
    nbgrader(room, "generate_assignment", LESSON, "--force")
    nbgrader(room, "autograde", LESSON)
    return room


def test_stock_autograde_gives_what_the_answers_are_worth(stock_room: Path) -> None:
    full = dict.fromkeys(["solved", "copied", "deleted", "stripped", "noisy"], 9.0)
    assert scores(stock_room) == full | dict.fromkeys(["untouched", "tagged", "cut"], 0.0)


def test_stock_feedback_and_export_work(stock_room: Path) -> None:
    nbgrader(stock_room, "generate_feedback", LESSON)
    page = (stock_room / "feedback" / "solved" / LESSON / f"{LESSON}.html").read_text()
    assert "hidden number" not in page
    nbgrader(stock_room, "export")
    with (stock_room / "grades.csv").open() as file:
        exported = {row["student_id"]: float(row["score"]) for row in csv.DictReader(file)}
    assert exported == scores(stock_room)


def test_nbgrader_validates_the_solved_notebook(stock_room: Path) -> None:
    said = nbgrader(stock_room, "validate", f"submitted/solved/{LESSON}/{LESSON}.ipynb")
    assert "Success! Your notebook passes all the tests." in said


@pytest.mark.parametrize("provisioner", ["local-provisioner", PROVISIONER])
def test_nbgraders_own_steps_are_hardened_too(
    new_room: Callable[[], Path], monkeypatch: pytest.MonkeyPatch, provisioner: str
) -> None:
    monkeypatch.setenv(PROVISIONER_VARIABLE, provisioner)
    room = new_room()
    path = room / "nbgrader_config.py"
    path.write_text(
        re.sub(
            r"c\.Autograde\.(?:\w+_preprocessors = \[.*?\]|exporter_class = \S+)\n", "", path.read_text(), flags=re.S
        )
    )
    release = release_of(room)
    hand_in(room, "noisy", answer(solved(release), "double", NOISY))
    hand_in(room, "tagged", tagged(release))
    hand_in(room, "deleted", without(solved(release), "check_double"))
    nbgrader(room, "autograde", LESSON)
    assert scores(room) == {"noisy": 9.0, "tagged": 0.0, "deleted": 9.0}

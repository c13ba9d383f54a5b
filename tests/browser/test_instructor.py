"""An instructor in formgrader: hands out, collects the zip of a learning management system, grades, reads, exports."""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parents[2]
LESSON, NOTEBOOK = "04_number_formats", "04_number_formats.ipynb"
SOLVED, UNTOUCHED = "5151", "6262"  # the users' numbers in the names that Canvas gives
START_SECONDS, GRADE_MILLISECONDS = 60, 300_000
TOKEN = "instructor"


def run(folder: Path, *command: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def classroom(tmp_path: Path) -> Path:
    folder = tmp_path / "spring"
    run(ROOT, "grader", "classroom", str(folder), "--lessons", "04")
    archive = folder / "downloaded" / LESSON / "archive"
    archive.mkdir(parents=True)
    with zipfile.ZipFile(archive / "submissions.zip", "w") as collected:
        collected.write(folder / "source" / LESSON / NOTEBOOK, f"lovelaceada_{SOLVED}_901_{NOTEBOOK}")
        collected.write(ROOT / "course" / NOTEBOOK, f"hoppergrace_LATE_{UNTOUCHED}_902_04_number_formats-1.ipynb")
    return folder


@pytest.fixture
def formgrader(classroom: Path, tmp_path: Path) -> Iterator[str]:
    port = "8987"
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}"]
    command += [f"--ServerApp.root_dir={classroom}", f"--ServerApp.token={TOKEN}", "--ServerApp.port_retries=0"]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "JUPYTER_CONFIG_DIR": str(tmp_path / "config")}
    with (tmp_path / "server.log").open("w") as log:
        server = subprocess.Popen(command, cwd=classroom, env=environment, stderr=log, stdout=log)
        try:
            await_answer(f"http://localhost:{port}/api?token={TOKEN}")
            yield f"http://localhost:{port}/formgrader"
        finally:
            server.terminate()
            server.wait(30)


def await_answer(address: str) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        try:
            urllib.request.urlopen(address).close()
            return
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.5)
    raise AssertionError("the server did not start")


def press(page: Page, row: str, column: str) -> None:
    """Press a button of formgrader's table, and wait for its success."""
    page.locator("tr", has_text=row).locator(f"td.{column} a").click()
    expect(page.locator(".modal.in .modal-title")).to_contain_text("Success", timeout=GRADE_MILLISECONDS)
    page.wait_for_timeout(1000)  # it slides in


def test_a_class_from_the_zip_to_the_marks(formgrader: str, classroom: Path, page: Page, picture) -> None:
    page.goto(f"{formgrader}?token={TOKEN}")
    shutil.rmtree(classroom / "release")
    press(page, LESSON, "assign")
    picture(page, "instructor_1_generated")
    assert (classroom / "release" / LESSON / NOTEBOOK).is_file()

    told = run(classroom, "nbgrader", "zip_collect", LESSON)
    assert "2 files collected" in told, told
    assert sorted(path.name for path in (classroom / "submitted").iterdir()) == [SOLVED, UNTOUCHED]

    page.goto(f"{formgrader}/manage_submissions/{LESSON}")
    for student in (SOLVED, UNTOUCHED):
        press(page, student, "autograde")
        picture(page, f"instructor_2_autograded_{student}")
        page.reload()
    expect(page.locator("tbody tr", has_text="needs autograding")).to_have_count(0)
    expect(page.locator("tbody tr", has_text="needs manual grading")).to_have_count(0)
    page.goto(f"{formgrader}/gradebook/{LESSON}/{LESSON}")
    expect(page.locator("tbody tr")).to_have_count(2)
    picture(page, "instructor_3_manual_grading")

    page.goto(formgrader)
    press(page, LESSON, "generate-feedback")
    picture(page, "instructor_4_feedback_generated")
    feedback = classroom / "feedback" / UNTOUCHED / LESSON / f"{LESSON}.html"
    page.goto(feedback.as_uri())
    expect(page.locator("body")).to_contain_text("not solved yet")
    picture(page, "instructor_5_feedback")

    run(classroom, "nbgrader", "export")
    with (classroom / "grades.csv").open(newline="") as marks:
        rows = {row["student_id"]: row for row in csv.DictReader(marks)}
    assert float(rows[SOLVED]["score"]) == float(rows[SOLVED]["max_score"]) > 0 == float(rows[UNTOUCHED]["score"])

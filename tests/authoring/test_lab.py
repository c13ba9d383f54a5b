from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from grader.__main__ import main
from grader.authoring.lab import copy_lessons, has_display, lab_command

LESSON = "07_sums.ipynb"


@pytest.fixture
def released(course: Path) -> Path:
    assert main(["release"]) == 0
    return course


def test_a_lesson_is_copied_once_and_never_written_over(released: Path) -> None:
    assert copy_lessons(released) == [f"work/{LESSON}: copied from course/"]
    mine = released / "work" / LESSON
    mine.write_text("my answers")
    assert copy_lessons(released) == []
    assert mine.read_text() == "my answers"


def test_a_newer_lesson_arrives_next_to_the_learners_once(released: Path) -> None:
    copy_lessons(released)
    mine = released / "work" / LESSON
    mine.write_text("my answers")
    course_file = released / "course" / LESSON
    course_file.write_text(course_file.read_text().replace("You will add", "You are going to add"))
    line = f"work/07_sums.new.ipynb: a newer version of the lesson; work/{LESSON} is as you left it"
    assert copy_lessons(released) == [line]
    assert copy_lessons(released) == []
    assert mine.read_text() == "my answers"
    assert (released / "work/07_sums.new.ipynb").read_bytes() == course_file.read_bytes()


def test_a_second_newer_lesson_does_not_replace_the_first(released: Path) -> None:
    copy_lessons(released)
    course_file = released / "course" / LESSON
    for _ in range(2):
        course_file.write_text(course_file.read_text() + "\n")
        copy_lessons(released)
    assert sorted(path.name for path in (released / "work").glob("*.new*")) == [
        "07_sums.new-2.ipynb",
        "07_sums.new.ipynb",
    ]


def test_without_lessons_the_command_says_what_to_run(course: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "--no-browser"]) == 2
    assert "Run: python -m grader release" in capsys.readouterr().err


def test_a_machine_without_display_gets_no_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert not has_display()
    assert "--no-browser" in lab_command(Path("work"), LESSON, has_browser=False, port=None)


def test_lab_answers_on_its_url_and_stops_at_ctrl_c(released: Path) -> None:
    heeding = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)"  # not so in the background
    start = f"{heeding}; from grader.__main__ import main; sys.exit(main(['lab', '--no-browser']))"
    command = [sys.executable, "-c", start]
    lab = subprocess.Popen(command, cwd=released, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert lab.stdout
    with lab, lab.stdout:
        url = next(match.group(1) for line in lab.stdout if (match := re.match(r"JupyterLab: (\S+)", line)))
        contents = url.replace(f"lab/tree/{LESSON}", f"api/contents/{LESSON}")
        with urllib.request.urlopen(contents) as answer:
            assert b"check_sum" in answer.read()
        lab.send_signal(signal.SIGINT)
        assert "your files are in work/" in lab.stdout.read()
    assert lab.returncode == 0


@pytest.mark.parametrize("port", ["99999", "0", "home"])
def test_a_number_outside_the_range_of_ports_is_rejected(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["lab", "--port", port])
    assert "argument --port: " in capsys.readouterr().err


def test_port_in_use_is_reported_and_no_other_is_taken(
    released: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(released)
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        assert main(["lab", "--no-browser", "--port", str(port)]) == 2
    said = capfd.readouterr().err
    assert f"could not be started because port {port} is not available" in said
    assert "JupyterLab did not start; its message is above" in said

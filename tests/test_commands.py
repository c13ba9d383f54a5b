"""What the commands say of a machine that refuses."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from grader.__main__ import main
from grader.authoring import lab


def test_a_path_through_a_file_is_told_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes").write_text("mine")
    assert main(["classroom", str(tmp_path / "notes" / "spring"), "--lessons", "04"]) == 2
    said = capsys.readouterr().err
    room = tmp_path / "notes" / "spring"
    remedy = "A part of this path is a file. Move it away or name another folder."
    assert said == f"{room} cannot be used ({room / 'source'}: Not a directory). {remedy}\n"


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS, errno.ENOSPC])
def test_a_full_or_locked_disk_is_told_with_its_path_and_a_remedy(
    number: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(_: Path) -> list[str]:
        raise OSError(number, os.strerror(number), "/course/work")

    monkeypatch.setattr(lab, "copy_lessons", refuse)
    assert main(["lab"]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"/course/work: {os.strerror(number)}. ") and said.count("\n") == 1


def test_an_error_of_the_course_itself_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Path) -> list[str]:
        raise FileNotFoundError(errno.ENOENT, "No such file or directory", "x")

    monkeypatch.setattr(lab, "copy_lessons", fail)
    with pytest.raises(FileNotFoundError):
        main(["lab"])

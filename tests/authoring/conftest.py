"""A toy course in a temporary folder."""

from __future__ import annotations

from pathlib import Path

import pytest
import toy


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The root of a course with one lesson; the current folder."""
    toy.make_course(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def source(course: Path) -> Path:
    """The source of the course's lesson."""
    return course / "solutions" / f"{toy.STEM}.py"

"""The start of the process that becomes the ranks."""

from __future__ import annotations

import subprocess

import pytest

from grader.ranks import connection


def test_a_start_that_takes_too_long_leaves_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen] = []

    class Noted(subprocess.Popen):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            started.append(self)

    monkeypatch.setattr(connection.subprocess, "Popen", Noted)
    monkeypatch.setattr(connection, "_IMPORT_SECONDS", 0.0)
    with pytest.raises(RuntimeError, match="gave no answer within 0 s"):
        connection.RankServer()
    assert len(started) == 1 and started[0].poll() is not None
    assert started[0].stdin and started[0].stdin.closed

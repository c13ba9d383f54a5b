from __future__ import annotations

import linecache
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from grader.ranks.connection import end_server

Define = Callable[..., dict[str, Any]]


@pytest.fixture
def define() -> Define:
    """Run source as a cell of a notebook does: its functions belong to `__main__`, and their lines are known."""

    def run(source: str, **names: Any) -> dict[str, Any]:
        namespace = {"__name__": "__main__", **names}
        filename = f"<cell {len(linecache.cache)}>"
        linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
        exec(compile(source, filename, "exec", dont_inherit=True), namespace)
        return namespace

    return run


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session", autouse=True)
def _no_process_stays() -> Any:
    yield
    end_server()

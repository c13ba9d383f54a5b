"""A job and its run are plain data, and the run is the same wherever it is made."""

from __future__ import annotations

import json
from pathlib import Path

import nbformat
import pytest
from small_course import code

from grader.classroom.jobs.job import Job, read_support, run_job
from grader.classroom.running.execution import CellRun, Execution, Limits

CELLS = (
    "from grader.channel import kernel_settings\nprint(open('data/table.csv').read(), kernel_settings().seed + 1)",
    "1 / 0",
    "import os\nprint(sorted(os.listdir()), os.environ.get('LEAN_TRAINING_SEED'), kernel_settings().seed)",
)
SEED = 1234567890


def make_job() -> Job:
    notebook = nbformat.v4.new_notebook(cells=[code(source) for source in CELLS])
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    support = {"data/table.csv": b"one,two"}
    return Job(nbformat.writes(notebook), "07", SEED, Limits(20, 60), support)


def test_a_job_crosses_json_unchanged() -> None:
    job = make_job()
    assert Job.from_json(json.loads(json.dumps(job.to_json()))) == job


def test_a_run_crosses_json_unchanged() -> None:
    outputs = [{"output_type": "stream", "name": "stdout", "text": "\ud800 8"}]
    runs = {index: CellRun(index, "ok", 0.5, outputs) for index in (2, 5)}
    execution = Execution(runs, "died", "the kernel died", 1.0)
    assert Execution.from_json(json.loads(json.dumps(execution.to_json()))) == execution


def test_job_of_another_version_is_refused_by_name() -> None:
    plain = make_job().to_json()
    with pytest.raises(ValueError, match="does not know: colour"):
        Job.from_json(plain | {"colour": "red"})
    with pytest.raises(ValueError, match="format 99"):
        Job.from_json(plain | {"format": 99})


def test_run_of_another_version_is_refused_by_name() -> None:
    plain = Execution({1: CellRun(1, "ok", 0.5, [])}).to_json()
    with pytest.raises(ValueError, match=r"Execution with fields .*: colour"):
        Execution.from_json(plain | {"colour": "red"})
    with pytest.raises(ValueError, match=r"CellRun with fields .*: colour"):
        Execution.from_json(plain | {"cells": [plain["cells"][0] | {"colour": "red"}]})
    with pytest.raises(ValueError, match="format None"):
        Execution.from_json({})
    with pytest.raises(ValueError, match="no run of a notebook"):
        Execution.from_json(plain | {"cells": 5})


def test_run_without_a_later_field_has_its_default() -> None:
    plain = Execution({}, "finished", "", 3.0).to_json()
    del plain["reason"]
    assert Execution.from_json(plain) == Execution({}, "finished", "", 3.0)


def test_notebook_finds_its_files_and_its_seed_and_no_output_shows_the_seed() -> None:
    execution = run_job(make_job())
    said = [run.outputs[0].get("text", "") for run in execution.cells.values()]
    assert [run.state for run in execution.cells.values()] == ["ok", "error", "ok"]
    assert (said[0], said[2]) == (f"one,two {SEED + 1}\n", "['data'] None (the seed)\n")


def test_support_file_outside_the_folder_of_the_run_is_refused() -> None:
    with pytest.raises(ValueError, match=r"'\.\./stray' would be outside"):
        run_job(Job("{}", "07", 1, support={"../stray": b""}))


def test_support_is_all_but_notebooks_and_hidden_files(tmp_path: Path) -> None:
    for name in ("07.ipynb", "table.csv", ".hidden", "data/deep.bin", "__pycache__/old.pyc", ".git/config"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(name.encode())
    assert read_support(tmp_path) == {"table.csv": b"table.csv", "data/deep.bin": b"data/deep.bin"}
    assert read_support(tmp_path / "nowhere") == {}

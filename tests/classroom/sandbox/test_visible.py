"""A kernel sees of the package the listed names alone, also where a version before has left folders behind."""

from __future__ import annotations

import json
import os
import py_compile
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from grader.classroom.base.errors import ClassroomError
from grader.classroom.judging.judge_process import Judge
from grader.classroom.sandbox import visible
from grader.classroom.sandbox.confinement import LADDER, LANDLOCK
from grader.classroom.sandbox.visible import PACKAGE, VISIBLE_NAMES, hidden_paths, nested, visible_paths

HIDDEN_NAMES = {"__main__.py", "authoring", "command_line.py", "judging", "questions.py"}
STALE_FOLDERS = ("judges", "cases", "checks")
STALE_MODULE = 'ANSWER = "stale"\n'
# What is tried inside: a name, and the exception that it ends in, or "done".
LOOK_AROUND = """
import importlib, json, os
from pathlib import Path
import grader, grader.lessons.adamw.checks, grader.ranks.run
package = Path(grader.__file__).parent
def tried(action, *arguments):
    try:
        action(*arguments)
    except (ImportError, OSError) as error:
        return "refused"
    return "done"
stale = ["judges.adam", "cases.adam", "checks.adam", "leak", "cached"]
imports = ["judging.budget", "judging.lessons", "authoring.lab", *stale]
files = ["judging/__init__.py", "judging/budget.py", "judges/adam.py", "leak.pyc", "__pycache__/cached.pyc"]
print(json.dumps({
    "package": str(package),
    "names": sorted(os.listdir(package)),
    "imported": [name for name in imports if tried(importlib.import_module, "grader." + name) == "done"],
    "read": [name for name in files if tried((package / name).read_bytes) == "done"],
    "written": [name for name in ("", "lessons", "judging") if tried((package / name / "x").write_text, "") == "done"],
}))
"""
RUN = """
import json, sys
import nbformat
from grader.classroom.jobs.job import Job, run_job
from grader.classroom.running.fork_client import kernel_server
from grader.classroom.running.sandbox_choice import why_not
level, readable, source = sys.argv[1:]
if reason := why_not(level, kernel_server().path):
    print(json.dumps({"skipped": reason}))
    raise SystemExit
notebook = nbformat.v4.new_notebook(
    cells=[nbformat.v4.new_code_cell(source)],
    metadata={"kernelspec": {"name": "python3", "display_name": "3"}},
)
job = Job(nbformat.writes(notebook), "small", 1_234_567_890, is_forked=True, sandbox=level, readable=(readable,))
(cell,) = run_job(job).cells.values()
assert cell.state == "ok", cell
print("".join(output["text"] for output in cell.outputs))
"""


def test_every_name_of_the_package_is_visible_or_known_to_be_hidden() -> None:
    assert {path.name for path in PACKAGE.iterdir()} - {"__pycache__"} == {*VISIBLE_NAMES} | HIDDEN_NAMES


def test_a_package_without_judges_stops_the_class(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(visible, "JUDGES", tmp_path / "judging")
    with pytest.raises(ClassroomError, match=r"judging/__init__\.py is missing, .* Install lean-training again"):
        hidden_paths(visible_paths())
    with pytest.raises(ClassroomError, match="no verdict can be made"):
        Judge()


def test_a_folder_around_the_package_shows_none_of_its_hidden_names() -> None:
    around = visible_paths([str(PACKAGE.parent)])
    hidden = hidden_paths(around)
    assert {str(PACKAGE), str(PACKAGE.parent / "solutions"), str(PACKAGE.parent / "tests")} <= set(hidden)
    order = nested(around, hidden)
    assert order.index((str(PACKAGE), True)) < order.index((str(PACKAGE / "lessons"), False))
    assert str(PACKAGE / "judging") not in dict(order)


def test_another_copy_of_the_package_is_hidden(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    copy = tmp_path / "site-packages" / "grader"
    copy.mkdir(parents=True)
    monkeypatch.syspath_prepend(str(copy.parent))
    assert str(copy.resolve()) in hidden_paths(visible_paths())


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the sandboxes need Linux")
@pytest.mark.parametrize("level", LADDER)
def test_a_kernel_finds_nothing_that_a_version_before_has_left(level: str, tmp_path: Path) -> None:
    package = tmp_path / "installed" / "grader"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    _leave_stale(package)
    tmp_path.chmod(0o755)  # a kernel that root starts runs as nobody
    path = os.pathsep.join([str(package.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-P", "-c", RUN, level, str(tmp_path), LOOK_AROUND]
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=200, cwd="/")
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    if "skipped" in seen:
        pytest.skip(f"{level}: {seen['skipped']}")
    assert seen["package"] == str(package)
    assert (seen["imported"], seen["read"], seen["written"]) == ([], [], [])
    if level != LANDLOCK:  # it closes files, and cannot hide their names
        assert seen["names"] == sorted(VISIBLE_NAMES)


def _leave_stale(package: Path) -> None:
    """Leave what a version before may have: folders of other names, and compiled files without a source."""
    for name in STALE_FOLDERS:
        (package / name).mkdir()
        (package / name / "__init__.py").write_text("")
        (package / name / "adam.py").write_text(STALE_MODULE)
    for name in ("leak.py", "cached.py"):
        (package / name).write_text(STALE_MODULE)
    (package / "__pycache__").mkdir()
    py_compile.compile(str(package / "leak.py"), str(package / "leak.pyc"))
    py_compile.compile(str(package / "cached.py"), str(package / "__pycache__" / "cached.pyc"))
    for name in ("leak.py", "cached.py"):
        (package / name).unlink()

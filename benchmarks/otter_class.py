"""A class of nbgrader notebooks ported to otter-grader 7: the same cells, each check an otter test of the same text.

Otter is called in process (`otter.api.grade_submission`), which starts Python once for a class; `otter run` does it for
each submission. This file imports nothing but the standard library until it grades, since it runs in otter's own venv.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
import venv
import zipfile
from pathlib import Path
from typing import Any

VERSION = "otter-grader[grading]==7.0.0"
PACKAGES = ("torch==2.13.0", "transformers", "accelerate", "datasets", "matplotlib", "safetensors", "nvidia-ml-py")
CHECKS = "otter_checks"  # not `grader`, as otter's own documents have it: that is the course's package
TEST = """\
from otter.test_files import test_case

OK_FORMAT = False
name = {name!r}
points = {points!r}
source = {source!r}


@test_case(points={points!r})
def test_{name}(env):
    exec(compile(source, {name!r}, "exec"), env)
"""


def make_environment(folder: Path, constraints: Path) -> Path:
    """Make a venv with otter and the course's packages, unless it stands; return its Python."""
    python = folder / "bin" / "python"
    mark = folder / "complete"
    if not mark.exists():
        print(f"once: a venv for otter in {folder}, about two minutes", flush=True)
        venv.create(folder, with_pip=True, clear=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "--constraint", str(constraints)]
        subprocess.run([*install, VERSION, *PACKAGES], check=True)
        mark.write_text(VERSION)
    return python


def port_class(notebooks: dict[str, dict[str, Any]], folder: Path) -> None:
    """Write each student's notebook with calls of otter in place of the checks, and the autograder with the checks."""
    folder.mkdir(parents=True)
    tests: dict[str, str] = {}
    for student, notebook in notebooks.items():
        ported = json.loads(json.dumps(notebook))
        for cell in ported["cells"]:
            metadata = cell["metadata"].pop("nbgrader", {})
            if metadata.get("grade"):
                name = metadata["grade_id"]
                tests[name] = TEST.format(name=name, points=metadata["points"], source=_text(cell["source"]))
                cell["source"] = f'{CHECKS}.check("{name}")'
        ported["cells"].insert(0, _code(f"import otter\n{CHECKS} = otter.Notebook()"))
        (folder / f"{student}.ipynb").write_text(json.dumps(ported))
    with zipfile.ZipFile(folder / "autograder.zip", "w") as archive:
        archive.writestr("otter_config.json", json.dumps({"print_summary": False, "print_score": False}))
        for name, text in tests.items():
            archive.writestr(f"tests/{name}.py", text)


def _text(source: str | list[str]) -> str:
    return source if isinstance(source, str) else "".join(source)


def _code(source: str) -> dict[str, Any]:
    cell = {"cell_type": "code", "source": source, "metadata": {}, "outputs": [], "execution_count": None}
    return cell | {"id": "otter"}


def grade(folder: Path) -> dict[str, Any]:
    """Grade the class, one after another, as otter does on one machine without containers."""
    from otter.api import grade_submission

    before, began = _cpu_seconds(), time.perf_counter()
    points = {}
    for path in sorted(folder.glob("*.ipynb")):
        results = grade_submission(str(path), str(folder / "autograder.zip"), quiet=True)
        points[path.stem] = float(results.total)
    return {"seconds": time.perf_counter() - began, "cpu_seconds": _cpu_seconds() - before, "points": points}


def _cpu_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    print(json.dumps(grade(Path(sys.argv[1]))))

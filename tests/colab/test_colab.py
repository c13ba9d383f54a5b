"""Self-study on Colab: the set-up cell changes nothing of the machine, lessons run, and what comes back is graded.

Colab is stood in for by a fresh virtual environment with what Colab has installed: torch, transformers and their like,
a module `google.colab`, and neither nbgrader nor this package. The committed state of the repository is installed.
"""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat.notebooknode import NotebookNode

from grader.authoring.header import set_up_cell
from grader.authoring.lesson import build_master
from grader.authoring.repository import repository_address

pytestmark = [pytest.mark.colab, pytest.mark.timeout(1500)]

ROOT = Path(__file__).resolve().parents[2]
SOLUTIONS = ROOT / "solutions"
INSTALLED = (
    "torch",
    "numpy",
    "transformers",
    "accelerate",
    "datasets",
    "matplotlib",
    "safetensors",
    "ipykernel",
    "peft",
)
LESSONS = ("00_three_forms", "04_number_formats", "08_adam_8bit")


def released() -> list[Path]:
    return sorted((ROOT / "course").glob("*.ipynb"))


@dataclass(frozen=True)
class Colab:
    """A virtual environment that looks like Colab's.

    Attributes:
        python: Its interpreter.
        environment: Variables for its processes; git finds this repository where it asks for the course's.
    """

    python: Path
    environment: dict[str, str]

    def freeze(self) -> set[str]:
        command = [self.python, "-m", "pip", "freeze", "--disable-pip-version-check"]
        return set(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\n")) - {""}


@pytest.fixture(scope="module")
def colab(tmp_path_factory: pytest.TempPathFactory) -> Colab:
    folder = tmp_path_factory.mktemp("colab")
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    python = folder / "venv" / "bin" / "python"
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*install, "--constraint", ROOT / "constraints.txt", *INSTALLED], check=True)
    (packages,) = (folder / "venv" / "lib").glob("python3*/site-packages")
    (packages / "google" / "colab").mkdir(parents=True)
    (packages / "google" / "colab" / "__init__.py").touch()
    (packages / "colab.pth").write_text("import google.colab\n")
    repository = folder / "course.git"
    subprocess.run(["git", "clone", "--quiet", "--bare", ROOT, repository], check=True)
    head = subprocess.run(["git", "-C", ROOT, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout
    address = repository_address(SOLUTIONS / "any.py")
    subprocess.run(["git", "-C", repository, "update-ref", f"refs/heads/{address.branch}", head.strip()], check=True)
    kernels = folder / "jupyter" / "kernels" / "colab"
    kernels.mkdir(parents=True)
    argv = [str(python), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (kernels / "kernel.json").write_text(json.dumps({"argv": argv, "display_name": "Colab", "language": "python"}))
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    environment |= {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "JUPYTER_PATH": str(folder / "jupyter")}
    environment |= {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": f"url.{repository.as_uri()}.insteadOf"}
    environment["GIT_CONFIG_VALUE_0"] = f"https://github.com/{address.repository}"
    return Colab(python, environment)


@pytest.fixture(scope="module")
def installed(colab: Colab) -> set[str]:
    """Run the set-up cell of every released lesson; return what it added, and require that nothing else changed."""
    before = colab.freeze()
    assert not any(line.lower().startswith(("nbgrader", "lean-training")) for line in before)
    for set_up in sorted({nbformat.read(path, as_version=4).cells[1].source for path in released()}):
        subprocess.run([colab.python, "-c", set_up], check=True, env=colab.environment)
    after = colab.freeze()
    assert before <= after, f"the set-up changed {sorted(before - after)}"
    return after - before


def test_the_set_up_adds_the_course_and_changes_nothing(installed: set[str]) -> None:
    assert {re.split(" @ |==", line)[0] for line in installed} == {"lean-training", "bitsandbytes", "torchao"}


def test_every_released_lesson_has_the_badge_and_this_set_up() -> None:
    address = repository_address(SOLUTIONS / "any.py")
    for path in released():
        badge, set_up, *lesson = nbformat.read(path, as_version=4).cells
        assert f"{address.repository}/blob/{address.branch}/course/{path.name}" in badge.source
        code = "\n".join(cell.source for cell in lesson if cell.cell_type == "code")
        assert set_up.source == set_up_cell(address, code)
        wanted = {
            "08_adam_8bit": "[eight-bit]",
            "21_quantization_and_lora": "[eight-bit,adapters]",
            "20_fp8_training": "[float8]",
            "23_mixture_of_experts": "[eight-bit,adapters]",
        }
        assert f"lean-training{wanted.get(path.stem, '')} @ " in set_up.source


def as_colab_keeps_it(stem: str) -> NotebookNode:
    """Return a released notebook, solved, as it comes back from Colab: without metadata, with other cell ids."""
    solved = {cell.source.split("\n")[0]: cell.source for cell in build_master(SOLUTIONS / f"{stem}.py").cells}
    notebook = nbformat.read(ROOT / "course" / f"{stem}.ipynb", as_version=4)
    for number, cell in enumerate(notebook.cells):
        cell.metadata, cell.id = nbformat.NotebookNode(), f"colab{number}"
        if cell.source.startswith("# exercise: "):
            cell.source = solved[cell.source.split("\n")[0]] + "\n\n# edited on Colab\n"
    notebook.metadata = nbformat.NotebookNode(
        colab={"provenance": []}, kernelspec={"name": "python3", "display_name": ""}
    )
    return notebook


@pytest.mark.parametrize("stem", LESSONS)
def test_a_lesson_runs_there_and_comes_back(stem: str, colab: Colab, installed: set[str], tmp_path: Path) -> None:
    notebook = as_colab_keeps_it(stem)
    run = nbformat.from_dict(notebook)
    run.cells.append(nbformat.v4.new_code_cell("import grader\ngrader.scorecard()"))
    (tmp_path / "content").mkdir()
    client = NotebookClient(
        run, timeout=300, kernel_name="colab", resources={"metadata": {"path": tmp_path / "content"}}
    )
    os.environ["JUPYTER_PATH"] = colab.environment["JUPYTER_PATH"]
    try:
        client.execute(env=colab.environment)
    finally:
        del os.environ["JUPYTER_PATH"]
    checks = [cell for cell in run.cells if cell.source.startswith("# check: ")]
    printed = ["".join(output.get("text", "") for output in cell.outputs) for cell in checks]
    assert printed and all(text.startswith("passed: ") for text in printed), printed
    card = run.cells[-1].outputs[0].text
    assert card.count("passed (") == len(checks), card

    classroom = tmp_path / "spring"
    grade = [sys.executable, "-m", "grader"]
    subprocess.run([*grade, "classroom", classroom, "--lessons", stem[:2]], check=True, cwd=ROOT)
    handed_in = classroom / "submitted" / "ada" / stem / f"{stem}.ipynb"
    handed_in.parent.mkdir(parents=True)
    nbformat.write(notebook, handed_in)
    subprocess.run([*grade, "autograde", classroom], check=True, cwd=ROOT)
    with (classroom / "marks.csv").open(newline="") as marks:
        (row,) = csv.DictReader(marks)
    assert (row["status"], row["mark_percent"]) == ("graded", "100.0"), row

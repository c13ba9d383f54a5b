"""Grade submissions with and without the lessons' demonstrations, and compare each mark and code.

Run: python benchmarks/class_demonstrations.py [--submissions 200] [--lesson 02 ...] [--minutes 60] [--kept FILE]

The submissions are assembled from the banks: solved and untouched notebooks of each lesson first, then mixes of right
and wrong answers, with cells of a learner's own and changed demonstrations. One line of JSON for each is added to the
file, and a second run goes on behind the last one. Exit status 1 if any mark or code differs.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import nbformat
from nbformat.notebooknode import NotebookNode

from grader.authoring.banks import read_banks
from grader.authoring.lesson import read_lesson
from grader.classroom.base.configuration import read_configuration
from grader.classroom.commands.folder import lesson_sources, make_classroom
from grader.classroom.gradebook.steps import RunCells
from grader.classroom.handed_in.alignment import align
from grader.classroom.handed_in.reading import parse_cells
from grader.classroom.lesson.demonstrations import demonstrations
from grader.classroom.lesson.master import is_answer, master_path, nbgrader_metadata, read_notebook, read_stub
from grader.classroom.running.execution import Execution
from grader.classroom.scoring.scores import score_notebook

UNCONFINED = 'c.RunCells.sandbox = "none"\nc.RunCells.is_unsafe = True\n'
OWN_CELLS = (
    "print('a note to myself')",
    "import torch\nprobe = torch.nn.Linear(4, 4)\nprint(probe(torch.randn(2, 4)).sum())",
    "torch.manual_seed(1234)",
    "import torch\ntorch.set_default_dtype(torch.float64)",
    "raise ValueError('still to do')",
    "print(undefined_name)",
    "def helper(values):\n    return [2 * value for value in values]\n\nhelper([1, 2])",
    "from accelerate import Accelerator\nmine = Accelerator()",
    "import gc\ngc.collect()",
    "results = losses = runs = model = None",
)
CHANGES = ("{}\nprint('changed')", "import torch\ntorch.manual_seed(9)\n{}", "# {}", "results = model = None\n{}")
Results = dict[str, tuple[float | None, str, str]]


def make_room(folder: Path, lessons: list[str]) -> Path:
    """Make a classroom without a sandbox."""
    make_classroom(folder, lessons)
    with (folder / "nbgrader_config.py").open("a") as configuration:
        configuration.write(UNCONFINED)
    return folder


def notebooks_of(room: Path, lesson: str) -> dict[str, NotebookNode]:
    """Return the untouched and the solved notebook of a lesson."""
    release = read_notebook(room / "release" / lesson / f"{lesson}.ipynb")
    solved = copy.deepcopy(release)
    master = read_notebook(master_path(room, lesson))
    answers = {cell.metadata.nbgrader.grade_id: cell.source for cell in filter(is_answer, master.cells)}
    for cell in filter(is_answer, solved.cells):
        cell.source = answers[cell.metadata.nbgrader.grade_id]
    return {"untouched": release, "solved": solved}


def assembled(room: Path, lesson: str, draw: random.Random) -> NotebookNode:
    """Return a notebook with answers of the banks; half of them with own cells and changed demonstrations."""
    notebook = notebooks_of(room, lesson)["solved"]
    source = lesson_sources()[lesson]
    entries = [entry for bank in read_banks(source.parents[1], read_lesson(source)) for entry in bank.entries]
    for cell in filter(is_answer, notebook.cells):
        known = [entry for entry in entries if entry.exercise == nbgrader_metadata(cell)["grade_id"]]
        if known and draw.random() < 0.7:
            cell.source = draw.choice(known).source
    if draw.random() < 0.5:
        return notebook
    shown = [cell for cell in notebook.cells if cell.cell_type == "code" and not nbgrader_metadata(cell)]
    for cell in draw.sample(shown, min(2, len(shown))):
        cell.source = draw.choice(CHANGES).format(cell.source)
    for text in draw.sample(OWN_CELLS, draw.randint(0, 2)):
        notebook.cells.insert(draw.randint(1, len(notebook.cells)), nbformat.v4.new_code_cell(text))
    return notebook


def run_both(room: Path, lesson: str, notebook: NotebookNode) -> tuple[Execution, dict[bool, Results]]:
    """Grade a submission with all cells and without; return the latter run, and both results by check."""
    rebuilt = align(read_stub(master_path(room, lesson)), parse_cells(json.dumps(notebook).encode()))
    found: dict[bool, Results] = {}
    for all_cells in (True, False):
        config: Any = read_configuration(room)
        config.RunCells.run_demonstrations = all_cells
        nb = copy.deepcopy(rebuilt.notebook)
        execution = RunCells(config=config).execute(nb, {"assignment": lesson, "student": "ada"})
        scores = score_notebook(nb, execution, rebuilt.missing)
        found[all_cells] = {score.check: (score.points, score.verdict, score.code) for score in scores}
    return execution, found


def submission(room: Path, title: str) -> NotebookNode:
    """Return the notebook that a title names: the same one in every run."""
    lesson, kind, *_ = title.split()
    return notebooks_of(room, lesson)[kind] if kind != "mix" else assembled(room, lesson, random.Random(title))


def main() -> int:
    """Compare as many as the time allows; return 1 if any differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--submissions", type=int, default=200, help="mixes; solved and untouched ones come on top")
    parser.add_argument("--lesson", nargs="+", default=[], help="numbers; default all")
    parser.add_argument("--minutes", type=float, default=600.0)
    parser.add_argument("--kept", type=Path, default=Path("build/class_demonstrations.jsonl"))
    args = parser.parse_args()
    lessons = [name for name in sorted(lesson_sources()) if not args.lesson or name[:2] in args.lesson]
    args.kept.parent.mkdir(parents=True, exist_ok=True)
    lines = args.kept.read_text().splitlines() if args.kept.exists() else []
    done = {found["submission"]: found for found in map(json.loads, lines)}
    every = [f"{lesson} {kind}" for lesson in lessons for kind in ("solved", "untouched")]
    every += [f"{lessons[number % len(lessons)]} mix {number}" for number in range(args.submissions)]
    ends = time.monotonic() + 60 * args.minutes
    with tempfile.TemporaryDirectory(prefix="lean-training-demonstrations-") as folder:
        room = make_room(Path(folder) / "room", lessons)
        for title in every:
            if title in done or time.monotonic() > ends:
                continue
            done[title] = compare(room, title, submission(room, title))
            with args.kept.open("a") as file:
                file.write(json.dumps(done[title]) + "\n")
    wanted = [done[title] for title in every if title in done]
    different = [found for found in wanted if found["different"]]
    reduced = sum(bool(found["left_out"]) for found in wanted)
    print(f"{len(wanted)} of {len(every)} compared, {reduced} ran without demonstrations, {len(different)} differ")
    return int(bool(different))


def compare(room: Path, title: str, notebook: NotebookNode) -> dict[str, Any]:
    """Return what one submission's two gradings gave, and print it."""
    lesson = title.split()[0]
    reduced, found = run_both(room, lesson, notebook)
    different = {
        name: [found[True][name], found[False][name]]
        for name in found[True]
        if found[True][name] != found[False].get(name)
    }
    known = len(demonstrations(align(read_stub(master_path(room, lesson)), []).notebook))
    print(f"{title}: left out {len(reduced.left_out)} of {known}; {different or 'same marks and codes'}", flush=True)
    return {"submission": title, "left_out": len(reduced.left_out), "checks": len(found[True]), "different": different}


if __name__ == "__main__":
    sys.exit(main())

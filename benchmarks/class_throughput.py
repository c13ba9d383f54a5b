"""Seconds and CPU that one submission costs with stock nbgrader, with otter-grader, and with this project.

Run: python benchmarks/class_throughput.py [--lesson light] [--submissions 10] [--jobs 2] [--without-otter]

All three execute the same cells of the same solved class, and must give full points, else the comparison is void. Stock
nbgrader and otter grade one submission after another, which is all that they do on one machine without containers;
this project grades as many at once as there are jobs. What a class costs once (imports, fork servers) is left out for
all three. c is the CPU that the cells take by themselves where the libraries stand imported, s is stock's overhead, its
seconds less c, and overhead is what a core is busy or idle for one submission here, less c. The CPU column is what the
whole machine spent: run this on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from class_graders import OURS, PAGES, STOCK, SYSTEMS
from light_lesson import LESSON, make_light_classroom
from nbformat.notebooknode import NotebookNode
from otter_class import make_environment, port_class

ROOT = Path(__file__).resolve().parents[1]
LESSONS = {"light": LESSON, "02": "02_gradient_accumulation", "06": "06_adamw"}
UNCONFINED = 'c.RunCells.sandbox = "none"\nc.RunCells.is_unsafe = True\n'
PLAIN_CONFIGURATION = 'c = get_config()\nc.CourseDirectory.root = "{root}"\n'
OTTER = "otter-grader 7.0.0"
ALLOWED_OVERHEAD = 0.5
BEGIN_COUNTING = """\
import os as _os
_spent = [-sum(_os.times()[:4])]
get_ipython().events.register("pre_run_cell", lambda info: _spent.append(-sum(_os.times()[:4])))
get_ipython().events.register("post_run_cell", lambda result: _spent.append(sum(_os.times()[:4])))"""
END_COUNTING = "print('spent', sum(_spent) + sum(_os.times()[:4]))"


def make_class(room: Path, lesson: str, count: int) -> dict[str, NotebookNode]:
    """Make a classroom of one lesson and hand in solved notebooks, each different; return them by student."""
    from grader.classroom.commands.folder import make_classroom

    make_light_classroom(room) if lesson == LESSON else make_classroom(room, [lesson])
    release, master = (
        nbformat.read(room / folder / lesson / f"{lesson}.ipynb", as_version=4) for folder in ("release", "source")
    )
    answers = {cell.metadata.nbgrader.grade_id: cell.source for cell in master.cells if _is_answer(cell)}
    notebooks = {}
    for number in range(count):
        notebook = nbformat.from_dict(json.loads(json.dumps(release)))
        for cell in filter(_is_answer, notebook.cells):
            cell.source = f"{answers[cell.metadata.nbgrader.grade_id]}\n# handed in by student {number}"
        notebooks[f"student{number:04d}"] = notebook
        path = room / "submitted" / f"student{number:04d}" / lesson / f"{lesson}.ipynb"
        path.parent.mkdir(parents=True)
        nbformat.write(notebook, path)
    return notebooks


def _is_answer(cell: NotebookNode) -> bool:
    return bool(cell.metadata.get("nbgrader", {}).get("solution"))


def cells_cpu_seconds(room: Path, lesson: str, notebook: NotebookNode) -> float:
    """Return c: the CPU of the cells and of the processes that they start, the median of three runs."""
    from grader.classroom.base.configuration import read_configuration
    from grader.classroom.gradebook.steps import RunCells

    counted = nbformat.from_dict(json.loads(json.dumps(notebook)))
    counted.cells.insert(0, nbformat.v4.new_code_cell(BEGIN_COUNTING))
    counted.cells.append(nbformat.v4.new_code_cell(END_COUNTING))
    step = RunCells(config=read_configuration(room))
    seconds = []
    for _ in range(3):
        execution = step.execute(counted, {"assignment": lesson, "student": "student0000"})
        last = execution.cells[max(execution.cells)]
        seconds.append(float(last.outputs[0]["text"].split()[1]))
    return statistics.median(seconds)


def compare(lesson: str, count: int, jobs: int, otter: Path | None, *, is_unsafe: bool) -> None:
    """Grade one class with every system and print the table."""
    with tempfile.TemporaryDirectory(prefix="lean-training-throughput-") as folder:
        rooms = {name: Path(folder) / str(number) for number, name in enumerate((*SYSTEMS, OTTER))}
        notebooks = make_class(rooms[OURS], lesson, count)
        if is_unsafe:
            with (rooms[OURS] / "nbgrader_config.py").open("a") as configuration:
                configuration.write(UNCONFINED)
        for name in (STOCK, PAGES):
            shutil.copytree(rooms[OURS], rooms[name])
        (rooms[STOCK] / "nbgrader_config.py").write_text(PLAIN_CONFIGURATION.format(root=rooms[STOCK]))
        cells_seconds = cells_cpu_seconds(rooms[OURS], lesson, notebooks["student0000"])
        used = {}
        for name in SYSTEMS:
            used[name] = _run(Path(sys.executable), "class_graders.py", name, str(rooms[name]), lesson, str(jobs))
        if otter:
            port_class(notebooks, rooms[OTTER])
            used[OTTER] = _run(otter, "otter_class.py", str(rooms[OTTER]))
    _require_full_points(used, notebooks)
    _print_table(lesson, count, jobs, cells_seconds, used)


def _run(python: Path, script: str, *arguments: str) -> dict[str, Any]:
    environment = {name: value for name, value in os.environ.items() if name != "JUPYTER_DEFAULT_PROVISIONER_NAME"}
    environment |= {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), "PATH": f"{python.parent}:{os.environ['PATH']}"}
    command = [str(python), str(Path(__file__).with_name(script)), *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    used: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return used


def _require_full_points(used: dict[str, dict[str, Any]], notebooks: dict[str, NotebookNode]) -> None:
    cells = next(iter(notebooks.values())).cells
    most = float(sum(cell.metadata.get("nbgrader", {}).get("points", 0) for cell in cells))
    for name, found in used.items():
        if found["points"] != dict.fromkeys(notebooks, most):
            raise SystemExit(f"void: {name} does not give each of {len(notebooks)} {most:g} points: {found['points']}")


def _print_table(lesson: str, count: int, jobs: int, cells: float, used: dict[str, dict[str, Any]]) -> None:
    seconds = {name: found["seconds"] / count for name, found in used.items()}
    print(f"\n{lesson}: {count} submissions, {jobs} jobs, full points everywhere\n")
    print(f"{'for each submission':<28}{'seconds':>9}{'CPU seconds':>13}{'ratio to stock':>16}")
    for name, found in used.items():
        ratio = seconds[STOCK] / seconds[name]
        print(f"{name:<28}{seconds[name]:>9.2f}{found['cpu_seconds'] / count:>13.2f}{ratio:>16.1f}")
    stock_overhead = seconds[STOCK] - cells
    ceiling = 2 * (cells + stock_overhead) / (cells + ALLOWED_OVERHEAD)
    print(f"\nc {cells:.2f} s (the cells' own CPU), s {stock_overhead:.2f} s (stock's overhead), ceiling {ceiling:.1f}")
    print(f"with feedback pages: overhead {jobs * seconds[PAGES] - cells:.2f} s")
    ratio = seconds[STOCK] / seconds[OURS]
    overhead = jobs * seconds[OURS] - cells
    print(f"overhead {overhead:.2f} s, {100 * ratio / ceiling:.0f} % of the ceiling, ratio {ratio:.1f}")


def main() -> None:
    """Compare on the lessons that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--submissions", type=int, default=10)
    parser.add_argument("--lesson", choices=LESSONS, action="append", help="default: all")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--without-otter", action="store_true")
    parser.add_argument("--unsafe", action="store_true", help="without the sandbox, to see what that costs")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "lean-training", help="for otter's venv")
    args = parser.parse_args()
    otter = None if args.without_otter else make_environment(args.cache / "otter-7.0.0", ROOT / "constraints.txt")
    for name in args.lesson or LESSONS:
        compare(LESSONS[name], args.submissions, args.jobs, otter, is_unsafe=args.unsafe)


if __name__ == "__main__":
    main()

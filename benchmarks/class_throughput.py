"""Seconds and CPU that one submission costs with stock nbgrader, with otter-grader, and with this project.

Run: python benchmarks/class_throughput.py [--lesson light] [--submissions 10] [--jobs 2] [--without-otter]

All three grade the same solved class, and must give full points, else the comparison is void. Stock nbgrader and otter
run all cells; this project leaves out demonstrations that no mark depends on. Systems take turns, round by round. Stock
nbgrader and otter grade one submission after another, which is all that they do on one machine without containers;
this project grades as many at once as there are jobs. What a class costs once (imports, fork servers) is left out for
all three. c is the CPU that the cells take by themselves, those that run here, where the libraries stand imported, s is
stock's overhead, its seconds less c, and overhead is what a core is busy or idle for one submission here, less c. The
CPU column is what the whole machine spent: run this on a machine that does nothing else. The stages of one submission:
cells and checks are counted in the kernel, the judges and the grading process by themselves; what remains is starting
and ending kernels.
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
REDUCED = "c.RunCells.run_demonstrations = False\n"
UNCONFINED = 'c.RunCells.sandbox = "none"\nc.RunCells.is_unsafe = True\n'
# nbgrader's own limit, 30 s for a cell, ends a submission on a busy machine, and with it the comparison
PLAIN_CONFIGURATION = 'c = get_config()\nc.CourseDirectory.root = "{root}"\nc.Execute.timeout = 600\n'
OTTER = "otter-grader 7.0.0"
ALLOWED_OVERHEAD = 0.5
BEGIN_COUNTING = """\
import os as _os
_spent, _began = [], []
get_ipython().events.register("pre_run_cell", lambda info: _began.append(sum(_os.times()[:4])))
get_ipython().events.register("post_run_cell", lambda result: _spent.append(sum(_os.times()[:4]) - _began[-1]))"""
END_COUNTING = "print('spent', *_spent)"


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


def cells_cpu_seconds(room: Path, lesson: str, notebook: NotebookNode) -> dict[str, float]:
    """Return the CPU of the cells that run and of the processes that they start, by kind: the median of three runs."""
    from grader.classroom.base.configuration import read_configuration
    from grader.classroom.gradebook.steps import RunCells
    from grader.classroom.handed_in.alignment import align
    from grader.classroom.handed_in.reading import parse_cells
    from grader.classroom.lesson.demonstrations import left_out_cells
    from grader.classroom.lesson.master import is_answer, is_graded, master_path, read_stub

    cells = parse_cells(json.dumps(notebook).encode())
    rebuilt = align(read_stub(master_path(room, lesson)), cells).notebook
    places = left_out_cells(rebuilt)
    kept = [cell for at, cell in enumerate(rebuilt.cells) if cell.cell_type == "code" and at not in places]
    begin, end = (nbformat.v4.new_code_cell(text) for text in (BEGIN_COUNTING, END_COUNTING))
    counted = nbformat.from_dict({**rebuilt, "cells": [begin, *kept, end]})
    kinds = ["checks" if is_graded(cell) and not is_answer(cell) else "cells" for cell in kept]
    config: Any = read_configuration(room)
    config.RunCells.run_demonstrations = True
    step, runs = RunCells(config=config), []
    for _ in range(3):
        execution = step.execute(counted, {"assignment": lesson, "student": "student0000"})
        outputs = execution.cells[max(execution.cells)].outputs
        said = next(text for text in (output.get("text", "") for output in outputs) if text.startswith("spent"))
        runs.append([float(number) for number in said.split()[-len(kept) :]])
    seconds = [statistics.median(found) for found in zip(*runs, strict=True)]
    return {kind: sum(s for s, of in zip(seconds, kinds, strict=True) if of == kind) for kind in ("cells", "checks")}


def compare(lesson: str, count: int, jobs: int, otter: Path | None, *, rounds: int, is_unsafe: bool) -> None:
    """Grade one class with every system in turn, as often as there are rounds, and print the table."""
    used: dict[str, dict[str, Any]] = {}
    kinds: dict[str, float] = {}
    for number in range(rounds):
        found, cells = measure(lesson, count, jobs, otter, is_unsafe=is_unsafe, with_cells=not number)
        kinds = cells or kinds
        for name, one in found.items():
            total = used.setdefault(name, dict.fromkeys(one, 0.0))
            used[name] = {key: total[key] + one[key] for key in one if key not in ("points", "said")}
            print(f"round {number + 1}: {name} {one['seconds'] / count:.2f} s a submission", flush=True)
    _print_table(lesson, count * rounds, jobs, kinds, used)


def measure(
    lesson: str, count: int, jobs: int, otter: Path | None, *, is_unsafe: bool, with_cells: bool
) -> tuple[dict[str, dict[str, Any]], dict[str, float]]:
    """Grade one class with every system; return what that took, and what its cells take by themselves."""
    with tempfile.TemporaryDirectory(prefix="lean-training-throughput-") as folder:
        rooms = {name: Path(folder) / str(number) for number, name in enumerate((*SYSTEMS, OTTER))}
        notebooks = make_class(rooms[OURS], lesson, count)
        with (rooms[OURS] / "nbgrader_config.py").open("a") as configuration:
            configuration.write(REDUCED + UNCONFINED * is_unsafe)
        for name in (STOCK, PAGES):
            shutil.copytree(rooms[OURS], rooms[name])
        (rooms[STOCK] / "nbgrader_config.py").write_text(PLAIN_CONFIGURATION.format(root=rooms[STOCK]))
        cells = cells_cpu_seconds(rooms[OURS], lesson, notebooks["student0000"]) if with_cells else {}
        used = {}
        for name in SYSTEMS:
            used[name] = _run(Path(sys.executable), "class_graders.py", name, str(rooms[name]), lesson, str(jobs))
        if otter:
            port_class(notebooks, rooms[OTTER])
            used[OTTER] = _run(otter, "otter_class.py", str(rooms[OTTER]))
    _require_full_points(used, notebooks)
    return used, cells


def _run(python: Path, script: str, *arguments: str) -> dict[str, Any]:
    environment = {name: value for name, value in os.environ.items() if name != "JUPYTER_DEFAULT_PROVISIONER_NAME"}
    environment |= {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), "PATH": f"{python.parent}:{os.environ['PATH']}"}
    command = [str(python), str(Path(__file__).with_name(script)), *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        ended = f"was killed by signal {-done.returncode}" if done.returncode < 0 else f"ended with {done.returncode}"
        raise SystemExit(f"{' '.join(command)} {ended}:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    used: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return used | {"said": f"{done.stdout[-2000:]}\n{done.stderr[-4000:]}"}


def _require_full_points(used: dict[str, dict[str, Any]], notebooks: dict[str, NotebookNode]) -> None:
    cells = next(iter(notebooks.values())).cells
    most = float(sum(cell.metadata.get("nbgrader", {}).get("points", 0) for cell in cells))
    for name, found in used.items():
        if found["points"] != dict.fromkeys(notebooks, most):
            raise SystemExit(
                f"void: {name} does not give each of {len(notebooks)} {most:g} points: {found['points']}\n"
                f"{found['said']}"
            )


def _print_table(lesson: str, count: int, jobs: int, kinds: dict[str, float], used: dict[str, dict[str, Any]]) -> None:
    cells = sum(kinds.values())
    seconds = {name: found["seconds"] / count for name, found in used.items()}
    print(f"\n{lesson}: {count} submissions, {jobs} jobs, full points everywhere\n")
    print(f"{'for each submission':<28}{'seconds':>9}{'CPU seconds':>13}{'ratio to stock':>16}")
    for name, found in used.items():
        ratio = seconds[STOCK] / seconds[name]
        print(f"{name:<28}{seconds[name]:>9.2f}{found['cpu_seconds'] / count:>13.2f}{ratio:>16.1f}")
    known = kinds | {stage: used[OURS][stage] / count for stage in ("judges", "this process")}
    known["feedback"] = max(0.0, (used[PAGES]["this process"] - used[OURS]["this process"]) / count)
    known["start, end, sandbox"] = (used[PAGES]["cpu_seconds"] / count) - sum(known.values())
    print("\nCPU seconds of one submission here: " + ", ".join(f"{name} {spent:.2f}" for name, spent in known.items()))
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
    parser.add_argument("--rounds", type=int, default=1, help="classes of so many submissions, graded in turns")
    parser.add_argument("--without-otter", action="store_true")
    parser.add_argument("--unsafe", action="store_true", help="without the sandbox, to see what that costs")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "lean-training", help="for otter's venv")
    args = parser.parse_args()
    otter = None if args.without_otter else make_environment(args.cache / "otter-7.0.0", ROOT / "constraints.txt")
    for name in args.lesson or LESSONS:
        compare(LESSONS[name], args.submissions, args.jobs, otter, rounds=args.rounds, is_unsafe=args.unsafe)


if __name__ == "__main__":
    main()

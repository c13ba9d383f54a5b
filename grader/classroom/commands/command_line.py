"""Define the commands `classroom`, `autograde` and `demo`, and register those of `marks_commands`."""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from grader.classroom.base.errors import ClassroomError, explained_errors
from grader.classroom.sandbox.confinement import CHOICES
from grader.command_line import at_least_one

from . import exam, inventory, marks_commands

if TYPE_CHECKING:
    from grader.classroom.base.row import Row
    from grader.classroom.jobs.pool import Runner

MOST_JOBS = 4  # each runs a kernel with PyTorch, about 1 GiB
EXIT_FAILED = 1
GOES_ON = "what was graded is kept, and the same command goes on from there"


def register(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the commands to `python -m grader`."""
    classroom = subparsers.add_parser("classroom", help="make a classroom (an nbgrader course folder), or add lessons")
    classroom.add_argument("directory", metavar="DIR", type=Path)
    classroom.add_argument(
        "--lessons", nargs="+", default=[], metavar="NN", help='numbers or names, as "02"; default all'
    )
    classroom.set_defaults(func=_explained(run_classroom))
    _add_autograde(subparsers)
    demo = subparsers.add_parser("demo", help="grade an embedded class and show the marks")
    demo.add_argument("directory", metavar="DIR", type=Path, nargs="?", default=Path("build/demo"))
    _add_limits(demo)
    demo.set_defaults(func=_explained(run_demo))
    exam.register(subparsers, _explained)
    inventory.register(subparsers, _explained)
    marks_commands.register(subparsers, _explained)


def _add_autograde(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    autograde = subparsers.add_parser(
        "autograde",
        help="grade every submission of a classroom",
        description="Exit status: 0 if all is graded, or there is nothing to grade; 1 if the grader failed on "
        "a submission; 2 if grading could not go on (the message says what to do).",
    )
    autograde.add_argument("directory", metavar="DIR", type=Path)
    autograde.add_argument("lesson", metavar="LESSON", nargs="*", help='number or name, as "02"; default all')
    _add_limits(autograde)
    autograde.add_argument(
        "--again", action="store_true", help="run all, also what did not change, and say which marks differ"
    )
    autograde.add_argument(
        "--scheduler", metavar="ADDRESS", help="run on the workers of this Dask scheduler, e.g. tcp://login:8786"
    )
    autograde.add_argument("--gpu-slots", action="store_true", help="on the cluster, take one slot GPU for each run")
    autograde.set_defaults(func=_explained(run_autograde), interrupted=[GOES_ON])


def _add_limits(parser: argparse.ArgumentParser) -> None:
    jobs = min(MOST_JOBS, os.cpu_count() or 1)
    parser.add_argument(
        "-j", "--jobs", type=at_least_one, default=jobs, metavar="N", help=f"submissions at once (default {jobs})"
    )
    parser.add_argument("--cell-seconds", type=at_least_one, metavar="S", help="limit of one cell")
    parser.add_argument(
        "--notebook-seconds", type=at_least_one, metavar="S", help="limit of all cells of a notebook together"
    )
    demonstrations = parser.add_mutually_exclusive_group()
    demonstrations.add_argument("--skip-demonstrations", action="store_true", help="run only what could change marks")
    demonstrations.add_argument("--all-cells", action="store_true", help="run the lesson's demonstrations, too")
    parser.add_argument("--sandbox", choices=CHOICES, metavar="LEVEL", help=f"one of {', '.join(CHOICES)}")
    parser.add_argument("--unsafe", action="store_true", help="run without a sandbox where the machine allows none")
    parser.add_argument("--no-feedback", action="store_true", help="write no HTML pages")


def _explained(command: Callable[[argparse.Namespace], int]) -> Callable[[argparse.Namespace], int]:
    """Turn what stops a class into an error that says what to do."""

    def run(args: argparse.Namespace) -> int:
        with explained_errors(args.directory):
            return command(args)

    return run


def run_classroom(args: argparse.Namespace) -> int:
    """Make a classroom or add lessons to it."""
    from grader.classroom.lesson.master import lessons_of

    from .folder import make_classroom

    added = make_classroom(args.directory, args.lessons)
    for lesson in lessons_of(args.directory):
        print(f"{lesson}  {'added' if lesson in added else 'kept'}")
    print(f"points   {args.directory / 'points.csv'}")
    print(
        f"hand out {args.directory / 'release'}, put work into {args.directory}/submitted/STUDENT/LESSON/LESSON.ipynb,"
    )
    print(f"then run: python -m grader autograde {args.directory}")
    return 0


def run_autograde(args: argparse.Namespace) -> int:
    """Grade every submission of a classroom."""
    from grader.classroom.base.row import FAILED
    from grader.classroom.pages.class_report.writing import write_class_report

    from .grading import grade_class
    from .screen_lines import summary_lines

    print(f"grading {args.directory}: each submission has its line as soon as its notebook has run", flush=True)
    with _runner(args) as runner:
        grading = grade_class(
            args.directory,
            args.lesson,
            runner=runner,
            settings=_settings(args),
            is_again=args.again,
            with_feedback=not args.no_feedback,
            say=_printer(),
        )
    for line in grading.left_out:
        print(f"left out: {line}")
    if not grading.rows:
        print(f"Nothing to grade: {args.directory}/submitted holds no submission to these lessons.")
        print("Put each student's notebook into submitted/STUDENT/LESSON/LESSON.ipynb.")
        return 0
    write_class_report(args.directory)
    print("\n".join(["", *_change_lines(grading.changes), *summary_lines(grading.rows, args.directory)]))
    if grading.kept_line:
        print(grading.kept_line)
    return EXIT_FAILED if any(row.status == FAILED for row in grading.rows) else 0


def _settings(args: argparse.Namespace) -> dict[str, int | bool | str]:
    """Return the settings of the step RunCells that the command line gives."""
    settings = {"cell_seconds": args.cell_seconds, "notebook_seconds": args.notebook_seconds}
    settings |= {"sandbox": args.sandbox, "is_unsafe": args.unsafe or None}
    if args.all_cells or args.skip_demonstrations:
        settings["run_demonstrations"] = args.all_cells
    return {name: value for name, value in settings.items() if value is not None}


@contextlib.contextmanager
def _runner(args: argparse.Namespace) -> Iterator[Runner]:
    """Return where the notebooks run: on this machine, or on a cluster."""
    from grader.classroom.jobs.pool import here

    if args.gpu_slots and not args.scheduler:
        raise ClassroomError("--gpu-slots is for a cluster. Name its scheduler: --scheduler ADDRESS.")
    if not args.scheduler:
        yield here(args.jobs)
        return
    from grader.classroom.jobs.cluster import on_cluster

    with on_cluster(args.scheduler, with_gpu_slots=args.gpu_slots) as runner:
        print(f"{args.scheduler} answers; its workers run on {runner.device}", flush=True)
        yield runner


def run_demo(args: argparse.Namespace) -> int:
    """Grade the embedded class."""
    from .demo import make_demo

    make_demo(args.directory)
    print(
        f"A class of lesson 02, handed in at {args.directory}/submitted. Cells that no mark depends on are left out.\n"
    )
    args.lesson, args.skip_demonstrations, args.all_cells = [], True, False
    args.unsafe = True  # the embedded class is the course's own: it is graded also where no sandbox can be built
    args.again, args.scheduler, args.gpu_slots = False, None, False
    return run_autograde(args)


def _change_lines(changes: list[str]) -> list[str]:
    return ["Changed since the last grading, of the same submissions:", *changes, ""] if changes else []


def _printer() -> Callable[[Row, str, list[str]], None]:
    """Return what prints each row, below the name of its lesson."""
    from .screen_lines import row_lines

    last = ""

    def print_row(row: Row, progress: str, changes: list[str]) -> None:
        nonlocal last
        heading = [] if row.lesson == last else [row.lesson]
        last = row.lesson
        head, *more = row_lines(row)
        changed = [f"    changed: {line.strip()}" for line in changes]  # at once, since a grading may be interrupted
        print("\n".join([*heading, f"{head}   {progress}", *more, *changed]), flush=True)

    return print_row

"""The command `exam`: a classroom whose assignments are private variants of the lessons' exercises."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

from nbformat.notebooknode import NotebookNode

from grader.classroom.base.errors import ClassroomError
from grader.command_line import count

Explained = Callable[[Callable[[argparse.Namespace], int]], Callable[[argparse.Namespace], int]]


def register(subparsers: argparse._SubParsersAction[argparse.ArgumentParser], explained: Explained) -> None:
    """Add the command to `python -m grader`."""
    exam = subparsers.add_parser(
        "exam",
        help="make a classroom with private variants of the lessons' exercises",
        description="Draws, from a secret key, a variant of each lesson's exercises that no public solution solves, "
        "proves that its own solution earns all points and the public one at most half, and adds it to the classroom.",
    )
    exam.add_argument("directory", metavar="DIR", type=Path)
    exam.add_argument(
        "--lessons", nargs="+", default=[], metavar="NN", help='numbers or names, as "02"; default all with an exam'
    )
    exam.add_argument(
        "--seed-file", type=Path, required=True, metavar="KEY", help="a secret file; the same one draws the same exam"
    )
    exam.set_defaults(func=explained(run_exam))


def run_exam(args: argparse.Namespace) -> int:
    """Draw the exams, prove them, and add them to a classroom."""
    from grader.authoring.exam import draw_exam, lessons_with_exam, read_key, score_exams
    from grader.authoring.lesson import build_assignment
    from grader.classroom.lesson.master import chosen_lessons, master_path

    from .folder import lesson_sources, make_classroom, repository

    every = lesson_sources()  # says what to do where the package was installed without its repository
    key, root = read_key(args.seed_file), repository()
    examined = lessons_with_exam(root)
    chosen = chosen_lessons(args.lessons, list(every)) if args.lessons else examined
    if without := [lesson for lesson in chosen if lesson not in examined]:
        raise ClassroomError(f"There is no exam on {', '.join(without)}. There is one on: {', '.join(examined)}.")
    exams = [draw_exam(root, lesson, key) for lesson in chosen]
    with tempfile.TemporaryDirectory() as folder:
        sources = {exam.stem: exam.write(Path(folder)) for exam in exams}
        for stem, source in sources.items():
            _require_same(master_path(args.directory, stem), build_assignment(source))
        print(f"proving {count(len(exams), 'exam')}: own and public solutions, on two cases each", flush=True)
        scores = dict(zip(exams, score_exams(exams), strict=True))
        for exam, earned in scores.items():
            if not earned.are_fair:
                raise ClassroomError(
                    f"{exam} is at fault: {earned}. Nothing was made. Please report it; another key draws another one."
                )
        added = make_classroom(args.directory, [], sources, build_assignment)
    for exam, earned in scores.items():
        print(f"{exam}  {'added' if exam.stem in added else 'kept'}: {earned}")
    print(f"hand out {args.directory / 'release'}, then run: python -m grader autograde {args.directory}")
    print(f"keep {args.seed_file} secret: whoever has it draws the same exam, with its solution")
    return 0


def _require_same(master: Path, built: NotebookNode) -> None:
    """Refuse to keep an exam that this key did not draw."""
    from grader.classroom.lesson.master import read_notebook

    if master.exists() and _code(read_notebook(master)) != _code(built):
        raise ClassroomError(
            f"{master} holds an exam that another key drew, or that was edited. Name a new folder, or the key that "
            "drew it."
        )


def _code(notebook: NotebookNode) -> list[str]:
    return [str(cell.source) for cell in notebook.cells if cell.cell_type == "code"]

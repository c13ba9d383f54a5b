"""The command `inventory`: the concept inventory as two assignments of a classroom, or for a learning platform."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

Explained = Callable[[Callable[[argparse.Namespace], int]], Callable[[argparse.Namespace], int]]


def register(subparsers: argparse._SubParsersAction[argparse.ArgumentParser], explained: Explained) -> None:
    """Add the command to `python -m grader`."""
    inventory = subparsers.add_parser(
        "inventory",
        help="add two tests of twelve questions to a classroom, for before and after the course",
        description="The report of the class shows, for each idea, who knew it before and who knows it after.",
    )
    inventory.add_argument("directory", metavar="DIR", type=Path)
    inventory.add_argument("--qti", type=Path, metavar="FILE.zip", help="write both as a package of QTI 2.1, too")
    inventory.set_defaults(func=explained(run_inventory))


def run_inventory(args: argparse.Namespace) -> int:
    """Add both forms to a classroom."""
    from grader.authoring.inventory import write_inventory, write_qti
    from grader.authoring.lesson import build_assignment
    from grader.questions import STEMS

    from .folder import make_classroom

    with tempfile.TemporaryDirectory() as folder:
        added = make_classroom(args.directory, [], write_inventory(Path(folder)), build_assignment)
    for stem in STEMS.values():
        print(f"{stem}  {'added' if stem in added else 'kept'}")
    if args.qti:
        write_qti(args.qti)
        print(f"{args.qti}  both forms, QTI 2.1")
    print(f"hand out {args.directory / 'release' / STEMS['before']} before the first lesson, the other after the last")
    return 0

"""Define the commands of a course's authors: release, validate, lab."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from grader.command_line import at_least_one, port


def register(subparsers: Any) -> None:
    """Add the authoring commands to the parser of `python -m grader`.

    Args:
        subparsers: What `ArgumentParser.add_subparsers` returned.
    """
    release = subparsers.add_parser("release", help="build course/ from solutions/")
    release.add_argument("lessons", nargs="*", metavar="LESSON", help="number or name; all if none is named")
    release.add_argument("--check", action="store_true", help="write nothing; exit 1 and name the files that differ")
    release.set_defaults(func=_release)
    validate = subparsers.add_parser("validate", help="run lessons solved, unsolved, and against their banks")
    validate.add_argument("lessons", nargs="*", metavar="LESSON", help="number or name; all if none is named")
    validate.add_argument(
        "--exercise", action="append", default=[], metavar="NAME", help="run this exercise's banks alone; repeatable"
    )
    validate.add_argument(
        "-j", "--processes", type=at_least_one, default=2, help="answers that run at a time (default 2)"
    )
    validate.set_defaults(func=_validate)
    lab = subparsers.add_parser("lab", help="copy new lessons to work/ and open JupyterLab there")
    lab.add_argument("--no-browser", action="store_true", help="print the URL only")
    lab.add_argument("--port", type=port, default=None, help="port to listen on (default: Jupyter's choice)")
    lab.set_defaults(func=_lab)


def _release(arguments: argparse.Namespace) -> int:
    from .release import COURSE, SOURCES, find_changes, write_changes
    from .repository import find_root

    root = find_root(Path.cwd())
    changes = find_changes(root, arguments.lessons)
    if not arguments.check:
        write_changes(root, changes)
    for change in changes:
        done = "removed, it has no source" if change.text is None else "written"
        print(f"{change.path}: {change.state if arguments.check else done}")
    if not changes:
        print(f"{COURSE}/ is up to date with {SOURCES}/")
    elif arguments.check:
        print(f"{len(changes)} of {COURSE}/ out of date with {SOURCES}/. Run: python -m grader release")
    return int(arguments.check and bool(changes))


def _validate(arguments: argparse.Namespace) -> int:
    from .repository import find_root
    from .validate import validate

    return validate(find_root(Path.cwd()), arguments.lessons, arguments.exercise, processes=arguments.processes)


def _lab(arguments: argparse.Namespace) -> int:
    from .lab import open_lab
    from .repository import find_root

    return open_lab(find_root(Path.cwd()), has_browser=not arguments.no_browser, port=arguments.port)

"""The commands of the course: python -m grader COMMAND.

release | validate | lab | plan for its authors and learners; classroom | autograde | demo | report | export | roster |
override | receive for an instructor.
"""

from __future__ import annotations

import argparse
import errno
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

PACKAGES = ("grader.authoring", "grader.classroom")
OF_THE_MACHINE = {  # errors that no code here can prevent, and what helps
    errno.EACCES: "Name a place that you may read and write, or change its permissions.",
    errno.EPERM: "Name a place that you may read and write, or change its permissions.",
    errno.EROFS: "Name a place that can be written to.",
    errno.ENOSPC: "Make room on the disk and run the command again.",
    errno.EDQUOT: "Make room within your quota and run the command again.",
    errno.ENOTDIR: "A part of this path is a file. Name a folder.",
    errno.EISDIR: "A folder has the name of a file. Move it away and run the command again.",
    errno.EBUSY: "Another program or a mount holds it. Let it go and run the command again.",
    errno.ENAMETOOLONG: "Name a shorter path.",
}


def build_parser() -> argparse.ArgumentParser:
    """Collect the commands of each package."""
    parser = argparse.ArgumentParser(prog="python -m grader", description="Build, validate and grade the course.")
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True)
    for package in PACKAGES:
        importlib.import_module(f"{package}.commands").register(subparsers)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: The words of the command line; those of this process if left out.

    Returns:
        The exit code. An error with an `exit_code` is printed on stderr without a traceback.
    """
    parsed = build_parser().parse_args(arguments)
    try:
        return int(parsed.func(parsed))
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("grader"):
            raise
        own = Path(".venv/bin/python")
        remedy = f"Run {own} in place of python" if own.exists() else "Install it: pip install 'lean-training[lab]'"
        return _tell(f"the module {error.name} is missing. {remedy}.", 2)
    except KeyboardInterrupt:
        return _tell("; ".join(["interrupted", *getattr(parsed, "interrupted", [])]), 130)
    except Exception as error:
        exit_code = getattr(error, "exit_code", None)
        if exit_code is not None:
            return _tell(str(error), int(exit_code))
        if isinstance(error, OSError) and error.errno in OF_THE_MACHINE:
            where = f"{error.filename}: " if error.filename else ""
            return _tell(f"{where}{error.strerror}. {OF_THE_MACHINE[error.errno]}", 2)
        raise


def _tell(message: str, exit_code: int) -> int:
    print(message, file=sys.stderr)
    return exit_code


if __name__ == "__main__":
    sys.exit(main())

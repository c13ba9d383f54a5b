"""Define the faults of a source, each with its remedy, and the errors that report them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Problem:
    """One fault in a file of the course.

    Attributes:
        path: The file.
        line: The line of the fault, from 1; 0 for the whole file.
        fault: What is wrong.
        remedy: How the author corrects it.
    """

    path: Path
    line: int
    fault: str
    remedy: str

    def __str__(self) -> str:
        """One line that an editor can jump to: file, line, fault, remedy."""
        place = f"{self.path}:{self.line}" if self.line else f"{self.path}"
        return f"{place}: {self.fault}. {self.remedy}."


class AuthoringError(Exception):
    """Raised if a command cannot do what was asked; the message says what to do.

    Attributes:
        exit_code: What the command exits with: 2 for a wrong request, 1 for a fault in the course.
    """

    exit_code = 2


class BuildError(AuthoringError):
    """Raised for sources that cannot be built, with every fault that was found.

    Attributes:
        problems: The faults, in the order of the files.
    """

    exit_code = 1

    def __init__(self, problems: Sequence[Problem]):
        self.problems = tuple(problems)
        super().__init__("\n".join(map(str, self.problems)))

"""Read an answer that is written as an edit of the solution, and apply it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from .errors import BuildError, Problem
from .source import without_markers

GAP = "# ..."
EDIT_LINE = re.compile(r"#(?: ([ +-])(?: (.*))?)?")  # `#   kept`, `# - removed`, `# + added`, `#` an empty kept line
PROSE = re.compile(r"#(?: [^ +-].*| [+-][^ ].*)?")  # any other comment

NumberedLine = tuple[int, str]


@dataclass(frozen=True)
class Hunk:
    """Neighbouring lines of an edit.

    Attributes:
        line: The line of the bank where it starts.
        old: The lines of the solution that it replaces: kept and removed ones.
        new: The lines that take their place: kept and added ones.
    """

    line: int
    old: tuple[str, ...]
    new: tuple[str, ...]


def edited(solution: str, path: Path, edit_lines: Iterable[NumberedLine]) -> str:
    """Apply an edit to the solution of an exercise.

    Args:
        solution: The exercise cell of the lesson's source.
        path: The bank, for the messages.
        edit_lines: The lines of the edit with their numbers in the bank.

    Returns:
        The answer, without the markers of the solution region.

    Raises:
        BuildError: if a line belongs to no edit, or a hunk does not occur exactly once in the exercise cell.
    """
    hunks = [_hunk(path, list(lines)) for is_gap, lines in groupby(edit_lines, _is_gap) if not is_gap]
    solved = without_markers(solution)
    answer: list[str] = []
    end = 0
    for hunk in hunks:
        place = _place(hunk, path, solved)
        if place < end:
            raise BuildError([Problem(path, hunk.line, "the hunk starts before the one above it ends", "Join the two")])
        answer += [*solved[end:place], *hunk.new]
        end = place + len(hunk.old)
    return "\n".join(answer + solved[end:])


def _is_gap(numbered_line: NumberedLine) -> bool:
    return numbered_line[1] == GAP


def _hunk(path: Path, lines: Sequence[NumberedLine]) -> Hunk:
    marked = [_marked(path, number, text) for number, text in lines]
    start = lines[0][0]
    if all(mark == " " for mark, _ in marked):
        remedy = "Mark removed lines with '# - ' and added lines with '# + '"
        raise BuildError([Problem(path, start, "the hunk changes nothing", remedy)])
    return Hunk(
        start,
        old=tuple(code for mark, code in marked if mark != "+"),
        new=tuple(code for mark, code in marked if mark != "-"),
    )


def _marked(path: Path, number: int, text: str) -> tuple[str, str]:
    found = EDIT_LINE.fullmatch(text)
    if not found:
        remedy = "Start it with '#   ', '# - ' or '# + ', then the line of code with its indentation"
        raise BuildError([Problem(path, number, f"this line belongs to no edit: {text}", remedy)])
    return found.group(1) or " ", found.group(2) or ""


def _place(hunk: Hunk, path: Path, solved: Sequence[str]) -> int:
    """Return where the only occurrence of a hunk starts in the solution."""
    places = list(_places(hunk.old, solved))
    if len(places) == 1:
        return places[0]
    missing = next((line for line in hunk.old if line not in solved), None)
    if missing is not None:
        fault, remedy = (
            f"the edit does not apply: the solution has no line '{missing}'",
            "Copy it with its indentation",
        )
    else:
        fault = f"the edit does not apply: its kept and removed lines occur {len(places)} times in the solution"
        remedy = "Add kept lines above or below" if places else "Copy neighbouring lines, or put '# ...' between them"
    raise BuildError([Problem(path, hunk.line, fault, remedy)])


def _places(old: Sequence[str], solved: Sequence[str]) -> Iterator[int]:
    for start in range(len(solved) - len(old) + 1):
        if tuple(solved[start : start + len(old)]) == tuple(old):
            yield start

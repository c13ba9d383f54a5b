"""Read a lesson's source: a solved jupytext percent script with cell keys."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jupytext

from .errors import BuildError, Problem

CELL_MARKER = re.compile(r"^# %%")
BEGIN, END = "BEGIN SOLUTION", "END SOLUTION"  # nbgrader matches them anywhere in a line
JUPYTEXT_KEYS = frozenset({"lines_to_next_cell"})  # jupytext's own bookkeeping, which no notebook needs


@dataclass(frozen=True)
class SourceCell:
    """One cell of a percent script, with its line.

    Attributes:
        kind: "code" or "markdown"; another kind is rejected by the rules.
        source: The text of the cell, solved.
        keys: The cell keys, for example {"check": "check_sum", "points": 2}.
        line: The line of the cell's marker, from 1.
    """

    kind: str
    source: str
    keys: dict[str, Any] = field(default_factory=dict)
    line: int = 1

    @property
    def tags(self) -> tuple[str, ...]:
        """The cell's tags."""
        tags = self.keys.get("tags", ())
        return tuple(tags) if isinstance(tags, list) else (str(tags),) if tags else ()

    @property
    def exercise(self) -> str | None:
        """The function that the learner writes here, or None."""
        return self.keys.get("exercise")

    @property
    def check(self) -> str | None:
        """The check that is called here, or None."""
        return self.keys.get("check")

    @property
    def is_given(self) -> bool:
        """Whether exercises may rely on this cell."""
        return "given" in self.tags

    def line_of(self, text: str) -> int:
        """Return the line of the first occurrence of `text`, or of the cell."""
        for offset, line in enumerate(self.source.split("\n"), start=1):
            if text in line:
                return self.line + offset
        return self.line


def read_source(path: Path) -> list[SourceCell]:
    """Read the cells of a source.

    Args:
        path: A jupytext percent script.

    Returns:
        The cells in order, with their lines.

    Raises:
        BuildError: if the script does not start with a cell, or a string contains a cell marker.
    """
    opening, cells = read_cells(path)
    if opening.strip():
        raise BuildError([Problem(path, 1, "the source does not start with a cell", "Start it with '# %% [markdown]'")])
    return cells


def read_cells(path: Path) -> tuple[str, list[SourceCell]]:
    """Read the text above the first cell of a percent script, and the cells.

    Args:
        path: The script.

    Returns:
        The text, and the cells with their lines.

    Raises:
        BuildError: if the script has no cell, or a string contains a cell marker.
    """
    lines = path.read_text(encoding="utf-8").split("\n")
    markers = [number for number, line in enumerate(lines, start=1) if CELL_MARKER.match(line)]
    if not markers:
        raise BuildError([Problem(path, 1, "the file has no cell", "Start each cell with a line '# %%'")])
    cells = jupytext.reads("\n".join(lines[markers[0] - 1 :]), fmt="py:percent").cells
    if len(cells) != len(markers):
        fault = f"{len(markers)} cell markers give {len(cells)} cells"
        raise BuildError([Problem(path, 1, fault, "Take '# %%' out of strings")])
    return "\n".join(lines[: markers[0] - 1]), [
        SourceCell(
            kind=cell.cell_type,
            source=cell.source,
            keys={key: value for key, value in cell.metadata.items() if key not in JUPYTEXT_KEYS},
            line=line,
        )
        for cell, line in zip(cells, markers, strict=True)
    ]


def solution_lines(source: str) -> list[str]:
    """Return the lines inside the solution regions of a cell, blank lines left out."""
    inside, kept = False, []
    for line in source.split("\n"):
        if BEGIN in line or END in line:
            inside = BEGIN in line
        elif inside and line.strip():
            kept.append(line)
    return kept


def without_markers(source: str) -> list[str]:
    """Return the lines of a cell without the markers of its solution regions."""
    return [line for line in source.split("\n") if BEGIN not in line and END not in line]

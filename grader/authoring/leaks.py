"""Keep the text of a solution out of the released notebook."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from nbformat.notebooknode import NotebookNode

from .errors import Problem
from .source import BEGIN, END, SourceCell, solution_lines

SHORTEST_DISTINCTIVE = 24  # characters; below it a line such as `loss.backward()` is everyone's
BLOCK_HEADER = re.compile(r"^(for|while|if|elif|else|with|try|except|finally|import|from)\b")
COMMENT = re.compile(r"\s*#.*$")


def leak_problems(path: Path, cells: Sequence[SourceCell], released: NotebookNode) -> list[Problem]:
    """Look for solutions in a released notebook.

    A text cell shows no distinctive line of a solution. A code cell shows no distinctive `return` of one, and less
    than half of its distinctive lines, since a demonstration shares idioms with every answer.

    Args:
        path: The source, for the messages.
        cells: The cells of the source, solved.
        released: The notebook as students get it.

    Returns:
        One problem for each solution that shows in a cell.
    """
    problems = []
    for cell in cells:
        distinctive = [line for line in map(_bare, solution_lines(cell.source)) if _is_distinctive(line)]
        for index, released_cell in enumerate(released.cells):
            shown = _shown(distinctive, released_cell)
            if shown:
                fault = f"solution text of '{cell.exercise}' stays in cell {index + 1} of the release: {shown[0]}"
                remedy = (
                    f"Move it into the region, or word the other cell differently; regions need ### {BEGIN}, ### {END}"
                )
                problems.append(Problem(path, cell.line_of(shown[0]), fault, remedy))
    return problems


def _bare(line: str) -> str:
    return COMMENT.sub("", " ".join(line.split()))


def _is_distinctive(line: str) -> bool:
    return len(line) >= SHORTEST_DISTINCTIVE and not BLOCK_HEADER.match(line)


def _shown(distinctive: Sequence[str], released_cell: NotebookNode) -> list[str]:
    text = " ".join(released_cell.source.split())
    if released_cell.cell_type != "code":
        return [line for line in distinctive if line in text]
    lines = {_bare(line) for line in released_cell.source.split("\n")}
    shown = [line for line in distinctive if line in lines]
    is_answer = 2 * len(shown) >= len(distinctive) or any(line.startswith("return ") for line in shown)
    return shown if shown and is_answer else []

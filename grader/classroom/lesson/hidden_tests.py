"""Hide from students what they must not see: hidden tests, mark schemes, and output that quotes them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

import nbformat
from nbformat.notebooknode import NotebookNode

from .master import is_answer, is_graded

HIDDEN = re.compile(r"^[^\n]*BEGIN HIDDEN TESTS.*?(?:END HIDDEN TESTS[^\n]*(?:\n|\Z)|\Z)", re.DOTALL | re.MULTILINE)
MARK_SCHEME = re.compile(r"^[^\n]*BEGIN MARK SCHEME.*?(?:END MARK SCHEME[^\n]*(?:\n|\Z)|\Z)", re.DOTALL | re.MULTILINE)
SHORTEST_QUOTE = 5  # characters of a word or number that is searched for in outputs
NOT_SHOWN = "(not shown: it has a part of a hidden test)"


def has_hidden(source: str) -> bool:
    """Return whether a cell has hidden tests."""
    return HIDDEN.search(source) is not None


def safe_message(source: str, message: str) -> str:
    """Return an assertion's message if the visible part of a cell with hidden tests contains it.

    The learner's code, which runs in the same kernel as the hidden tests, may have made up any other message.
    """
    try:
        nodes = list(ast.walk(ast.parse(HIDDEN.sub("", source))))
    except (SyntaxError, ValueError, RecursionError):
        nodes = []
    is_known = any(isinstance(node, ast.Constant) and node.value == message for node in nodes)
    return message if is_known else "an assertion does not hold"


def shown_source(source: str) -> str:
    """Return a cell without hidden tests and mark schemes."""
    return MARK_SCHEME.sub("", HIDDEN.sub("", source))


def telling_words(cells: Iterable[NotebookNode]) -> set[str]:
    """Return words, numbers and lines that only hidden tests contain."""
    cells = list(cells)
    hidden = "\n".join(text for cell in cells if is_graded(cell) for text in HIDDEN.findall(str(cell.source)))
    shown = "\n".join(shown_source(str(cell.source)) for cell in cells if cell.get("id", "")[:4] != "own-")
    words = {*re.findall(r"\w+", hidden), *(line.strip() for line in hidden.splitlines())}
    return {word for word in words if len(word) >= SHORTEST_QUOTE and word not in shown}


def hide_hidden_tests(cell: NotebookNode, quotes: Iterable[str] = ()) -> NotebookNode:
    """Cut hidden tests and mark schemes from a cell of the master, and outputs that quote them."""
    is_check = is_graded(cell) and not is_answer(cell)
    if is_check and has_hidden(str(cell.source)):
        cell.outputs = []  # whatever ran in this cell could see the hidden tests
    outputs = cell.get("outputs", [])
    for index, output in enumerate(outputs):
        if any(word in str(output) for word in quotes):
            outputs[index] = nbformat.v4.new_output("stream", name="stdout", text=NOT_SHOWN)
    if is_answer(cell) and not cell.metadata.nbgrader.get("task"):
        return cell
    shown = shown_source(cell.source)
    if shown != cell.source and is_graded(cell):
        cell.source = shown.rstrip("\n")
    return cell

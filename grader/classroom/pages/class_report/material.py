"""Take from a lesson the section of each exercise, and from submissions one anonymous answer for each misconception."""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from grader.classroom.base.errors import ClassroomError
from grader.classroom.base.row import GRADED, STOPPED, Row
from grader.classroom.handed_in.reading import Unreadable, parse_cells, read_plain_file
from grader.classroom.handed_in.roster import read_roster
from grader.classroom.lesson.master import is_answer, master_path, nbgrader_metadata, read_notebook

from .first_screen import UNSEEN, Material

SECTION = re.compile(r"^#{1,3}\s+(.+?)\s*#*$", re.MULTILINE)
MOST_LINES = 24
TRIED = 4  # submissions with a misconception, of which the shortest is shown
SHORTEST_NAME = 3  # of a person; a shorter one occurs in any code


def lesson_material(classroom: Path, lesson: str, rows: Sequence[Row]) -> Material:
    """Return the sections and the examples of one lesson."""
    names = _names(classroom, rows)
    tried: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        for check in row.checks:
            if row.status in (GRADED, STOPPED) and row.file and check.is_lost and check.code not in UNSEEN:
                tried.setdefault((check.exercise, check.code), []).append(row)
    examples = {}
    for (exercise, code), found in tried.items():
        texts = [text for row in found[:TRIED] for text in _answers(classroom, row, exercise) if _is_free(text, names)]
        if texts:
            examples[exercise, code] = min(texts, key=len)
    return Material(_sections(classroom, lesson), examples)


def _sections(classroom: Path, lesson: str) -> dict[str, str]:
    sections, last = {}, ""
    with contextlib.suppress(ClassroomError):
        for cell in read_notebook(master_path(classroom, lesson)).cells:
            if cell.cell_type == "markdown":
                last = (SECTION.findall(cell.source) or [last])[-1]
            elif is_answer(cell):
                sections[str(nbgrader_metadata(cell)["grade_id"])] = last
    return sections


def _names(classroom: Path, rows: Sequence[Row]) -> set[str]:
    """Return the words that could name a student of the class."""
    people = [part for student in read_roster(classroom).values() for part in vars(student).values()]
    words = {word for text in [*people, *(row.student for row in rows)] for word in re.findall(r"[^\W_]+", str(text))}
    return {word.lower() for word in words if len(word) >= SHORTEST_NAME}


def _is_free(text: str, names: set[str]) -> bool:
    return not names & {word.lower() for word in re.findall(r"[^\W_]+", text)}


def _answers(classroom: Path, row: Row, exercise: str) -> Iterator[str]:
    """Yield the function that answers an exercise, without comments and docstrings."""
    with contextlib.suppress(Unreadable, OSError, SyntaxError, ValueError, RecursionError):
        for cell in parse_cells(read_plain_file(classroom / "submitted" / row.file)):
            if cell.kind == "code" and exercise in cell.source:
                yield from _functions(cell.source, exercise)


def _functions(source: str, exercise: str) -> Iterator[str]:
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == exercise:
            for inner in ast.walk(node):
                if isinstance(inner, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(inner) is not None:
                    inner.body = inner.body[1:] or [ast.Pass()]
            lines = ast.unparse(node).splitlines()
            yield "\n".join([*lines[:MOST_LINES], *(["    ..."] if len(lines) > MOST_LINES else [])])

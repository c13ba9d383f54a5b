"""Record which lessons are validated, and choose the few of their answers that a test run still tries."""

from __future__ import annotations

import ast
import hashlib
import io
import json
import re
import tokenize
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from .banks import WRONG, Entry, bank_paths, read_banks
from .lesson import Lesson
from .reached import reached_files
from .release import SOURCES, write_whole

RECORD = Path("tests/validated.json")
DAYS, TURNS = 3, 5  # a validated lesson is tried every third day, and in five of its turns one answer per code


@dataclass(frozen=True)
class Validated:
    """The record of a full validation of one lesson.

    Attributes:
        content: Hash of all that the lesson's points depend on.
        one_per_code: For each exercise and each code, the name of one wrong answer that is reported under it.
    """

    content: str
    one_per_code: dict[str, dict[str, str]]


def content_hash(root: Path, stem: str) -> str:
    """Hash all that a lesson's points depend on: its code cells, its banks, and what it reaches of the package.

    Prose is left out, in the text cells of the source and in the comments and docstrings of the package.
    """
    source = root / SOURCES / f"{stem}.py"
    texts = {source: _code_cells(source.read_text(encoding="utf-8"))}
    texts |= {path: path.read_text(encoding="utf-8") for path in bank_paths(root, stem)}
    texts |= {path: _statements(path.read_text(encoding="utf-8")) for path in reached_files(root, source)}
    digest = hashlib.sha256()
    for path, text in texts.items():
        digest.update(f"{path.relative_to(root).as_posix()}\n".encode())
        digest.update(hashlib.sha256(text.encode()).digest())
    return digest.hexdigest()


def _code_cells(source: str) -> str:
    """Return a source without its text cells; cell keys and the markers of solutions are comments, and stay."""
    cells = re.split(r"^(?=# %%)", "\n".join(_without_docstrings(source)), flags=re.MULTILINE)
    return "".join(cell.rstrip() + "\n" for cell in cells if not cell.startswith("# %% [markdown]"))


@cache
def _statements(module: str) -> str:
    """Return the lines of a module without comments, docstrings and empty lines; the same under every Python."""
    lines = _without_docstrings(module)
    for token in tokenize.generate_tokens(io.StringIO("\n".join(lines)).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    return "\n".join(line.rstrip() for line in lines if line.strip())


def _without_docstrings(module: str) -> list[str]:
    """Return the lines of a module, those of its docstrings replaced by `pass`."""
    lines = module.splitlines()
    for node in ast.walk(ast.parse(module)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            text = node.body[0]
            indent, first, last = lines[text.lineno - 1][: text.col_offset], text.lineno - 1, text.end_lineno or 0
            if not indent.strip():
                lines[first:last] = [f"{indent}pass", *[""] * (last - first - 1)]
    return lines


def read_record(root: Path) -> dict[str, Validated]:
    """Read `tests/validated.json`; {} where it is missing."""
    path = root / RECORD
    entries: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return {stem: Validated(**entry) for stem, entry in entries.items()}


def write_record(root: Path, found: dict[str, Validated]) -> None:
    """Add records to `tests/validated.json`, and drop lessons that no longer exist."""
    record = read_record(root) | found
    kept = {stem: vars(entry) for stem, entry in sorted(record.items()) if (root / SOURCES / f"{stem}.py").is_file()}
    write_whole(root / RECORD, json.dumps(kept, indent=1) + "\n")


def is_validated(root: Path, stem: str) -> bool:
    """Return whether a lesson is validated as it is now."""
    validated = read_record(root).get(stem)
    return validated is not None and validated.content == content_hash(root, stem)


def has_turn(stem: str, day: int) -> bool:
    """Return whether a lesson that is validated has its turn on a day, as a third of the lessons have."""
    return (day + int(stem[:2])) % DAYS == 0


def entries_to_try(root: Path, lesson: Lesson, day: int) -> list[Entry]:
    """Return the answers that a test run tries: the full banks, or a few of a lesson that is validated as it is now.

    A change of the libraries alone can change a validated lesson's verdicts. So each day has the turn of a third of
    the lessons, and 15 days of test runs try one wrong answer per code, in the order of their names: each run has
    answers to few exercises, and leaves out the others.

    Args:
        root: The repository.
        lesson: The lesson.
        day: Number of the day, which chooses the few.
    """
    entries = [entry for bank in read_banks(root, lesson) for entry in bank.entries]
    if not is_validated(root, lesson.stem):
        return entries
    if not has_turn(lesson.stem, day):
        return []
    one_per_code = read_record(root)[lesson.stem].one_per_code
    chosen = sorted((exercise, name) for exercise, codes in one_per_code.items() for name in codes.values())
    place = (day // DAYS) % TURNS
    today = chosen[place * len(chosen) // TURNS : (place + 1) * len(chosen) // TURNS]
    return [entry for entry in entries if entry.kind == WRONG and (entry.exercise, entry.name) in today]

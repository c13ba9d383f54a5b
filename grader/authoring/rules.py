"""Check the structure of a source; each breach is one problem with its line and its remedy."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from .calls import called_exercise, called_name, functions_named, parsed, sole_call
from .errors import Problem
from .source import BEGIN, END, SourceCell

STEM = re.compile(r"\d{2}_[a-z][a-z0-9]*(_[a-z0-9]+)*")
CELL_KEYS = frozenset({"exercise", "check", "objectives", "points", "tags"})
NEEDS_LOOPBACK = "needs-loopback"
TAGS = frozenset({"given", "hint", "further", NEEDS_LOOPBACK})
IDENTITY_LINE = re.compile(r"^# (exercise|check): ")
COLAB = re.compile(r"colab\.research\.google\.com|google\.colab")
IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

Fault = tuple[int, str, str]  # line, fault, remedy


def structure_problems(path: Path, cells: Sequence[SourceCell]) -> list[Problem]:
    """Check a source against every rule of structure.

    Args:
        path: The source, for its name and for the messages.
        cells: Its cells.

    Returns:
        Every problem, by line.
    """
    faults = [*_stem_faults(path.stem), *_order_faults(cells)]
    for cell in cells:
        faults += [*_key_faults(cell), *_kind_faults(cell), *_text_faults(cell), *_region_faults(cell)]
        if cell.exercise and cell.kind == "code":
            faults += _exercise_faults(cell, cell.exercise)
        if cell.check and cell.kind == "code":
            faults += _check_faults(cell, cell.check)
    return [Problem(path, *fault) for fault in sorted(faults)]


def _stem_faults(stem: str) -> Iterator[Fault]:
    if not STEM.fullmatch(stem):
        yield (
            0,
            f"'{stem}' is not a lesson name",
            "Name the file NN_noun_phrase.py: two digits, then words in lower case",
        )


def _key_faults(cell: SourceCell) -> Iterator[Fault]:
    for key in sorted(set(cell.keys) - CELL_KEYS):
        yield cell.line, f"unknown cell key '{key}'", f"Use {', '.join(sorted(CELL_KEYS))} only"
    for tag in sorted(set(cell.tags) - TAGS):
        yield cell.line, f"unknown tag '{tag}'", f"Use {', '.join(sorted(TAGS))} only"
    for key in ("exercise", "check"):
        name = cell.keys.get(key)
        if name is not None and not (isinstance(name, str) and IDENTIFIER.fullmatch(name)):
            yield cell.line, f"{key}={name!r} does not name a function", f'Write {key}="the_function"'
        if name is not None and cell.kind != "code":
            yield cell.line, f"a {cell.kind} cell has the key '{key}'", "Put it on a code cell"


def _kind_faults(cell: SourceCell) -> Iterator[Fault]:
    if cell.exercise and cell.check:
        yield cell.line, "a cell is both exercise and check", "Split it into two cells"
    if cell.is_given and (cell.exercise or cell.check):
        yield cell.line, "a given cell is an exercise or a check", "Remove the tag 'given'"
    if NEEDS_LOOPBACK in cell.tags and not cell.check:
        yield cell.line, f"the tag '{NEEDS_LOOPBACK}' on a cell that is not a check", "Move it to the check cell"
    if "points" in cell.keys and not cell.check:
        yield cell.line, "points on a cell that is not a check", "Move them to the check cell"
    if cell.kind not in ("code", "markdown"):
        yield cell.line, f"a {cell.kind} cell", "Make it a code or a markdown cell"


def _text_faults(cell: SourceCell) -> Iterator[Fault]:
    header = COLAB.search(cell.source)
    if header:
        yield (
            cell.line_of(header.group(0)),
            "a Colab header in the source",
            "Delete it: release writes the badge and the set-up cell",
        )
    for line in cell.source.split("\n") if cell.kind == "code" else ():
        if IDENTITY_LINE.match(line):
            yield cell.line_of(line), "an identity line in the source", "Delete it: release writes it"


def _region_faults(cell: SourceCell) -> Iterator[Fault]:
    is_open, has_region, remedy = False, False, f"Pair each ### {BEGIN} with one ### {END}"
    for line_number, line in enumerate(cell.source.split("\n"), start=cell.line + 1):
        if BEGIN in line or END in line:
            has_region = True
            if is_open == (BEGIN in line):
                yield line_number, "unbalanced solution region", remedy
            is_open = BEGIN in line
    if is_open:
        yield cell.line_of(BEGIN), "unbalanced solution region", remedy
    if has_region and not cell.exercise:
        yield cell.line_of(BEGIN), "a solution region outside an exercise", 'Give the cell the key exercise="..."'
    if cell.exercise and not has_region:
        yield (
            cell.line,
            f"exercise '{cell.exercise}' has no solution region",
            f"Put ### {BEGIN} and ### {END} around the answer",
        )


def _exercise_faults(cell: SourceCell, name: str) -> Iterator[Fault]:
    if parsed(cell.source) is None:
        yield cell.line, f"exercise '{name}' is not valid Python", "Run the source and correct the syntax"
        return
    functions = functions_named(cell.source, name)
    if len(functions) != 1:
        yield cell.line, f"the cell defines {len(functions)} functions named '{name}'", "Define exactly one"
    elif not ast.get_docstring(functions[0]):
        yield cell.line, f"exercise '{name}' has no docstring", "State its contract: Args, Returns, shapes and units"


def _check_faults(cell: SourceCell, name: str) -> Iterator[Fault]:
    call = sole_call(cell.source)
    if call is None:
        yield cell.line, f"check '{name}' is not exactly one call", f"Leave only {name}(the_exercise)"
    elif called_name(cell.source) != name:
        yield cell.line, f"check '{name}' calls '{ast.unparse(call.func)}'", f"Call {name}, or rename the key"
    points = cell.keys.get("points")
    if isinstance(points, bool) or not isinstance(points, int) or points < 1:
        fault = f"check '{name}' has no points" if points is None else f"check '{name}' has points={points}"
        yield cell.line, fault, "Give it a positive whole number of points"


def _order_faults(cells: Sequence[SourceCell]) -> Iterator[Fault]:
    """Ids are unique, each check follows its exercise, each exercise has a check."""
    lines = {cell.exercise: cell.line for cell in cells if cell.exercise}
    seen: set[str] = set()
    checked: set[str] = set()
    for cell in cells:
        name = cell.exercise or cell.check
        if name in seen:
            yield cell.line, f"the id '{name}' is used twice", "Give each exercise and each check a name of its own"
        if cell.check and sole_call(cell.source):
            exercise = called_exercise(cell.source)
            checked.add(exercise)
            if exercise not in lines:
                yield (
                    cell.line,
                    f"check '{cell.check}' has no exercise",
                    "Pass the exercise's function as first argument",
                )
            elif exercise not in seen:
                yield cell.line, f"check '{cell.check}' comes before its exercise", f"Move it below '{exercise}'"
        if name:
            seen.add(name)
    for exercise, line in lines.items():
        if exercise not in checked:
            yield line, f"exercise '{exercise}' has no check", f"Add a cell with check=... that is called on {exercise}"

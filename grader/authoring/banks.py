r"""Read the banks of a lesson: wrong answers, which must be reported under a declared code, and right answers.

A bank is a percent script in `tests/lessons/TOPIC/`, where TOPIC is the lesson's name without its number: for each
exercise `EXERCISE.wrong.py` and `EXERCISE.right.py`, one cell per answer. An answer is an edit of the solution, or the
whole text of the exercise cell where its structure differs::

    # Wrong answers to accumulate_gradients.
    # Not here: library_shortcut, because no library has an entry point for one group.

    # %% answer="plain_baseline" code="updates_for_each_micro_batch"
    # Source: an ordinary training loop
    def accumulate_gradients(model, loss_function, optimizer, micro_batches, k):
        for inputs, targets in micro_batches:
            ...

    # %% edit="divided_by_k" code="last_group_divided_by_k"
    # Source: Hugging Face guide, perf_train_gpu_one, v4.30
    #           group_size = min(k, len(micro_batches) - group_start)
    # -         loss = loss_function(model(inputs), targets) / group_size
    # +         loss = loss_function(model(inputs), targets) / k
    # ...
    # -             optimizer.zero_grad()

Header keys: `answer="name"` or `edit="name"`; in a wrong bank `code="..."`, the code that the first failed check must
report; `seed=20011` where the answer is right on the case that the notebook shows and must run on another.

Comments: a bank may open with a paragraph, in which `# Not here: NAME, because REASON` excuses an obligatory answer. A
wrong answer opens with `# Source: ...`, where the misconception comes from. One whose code is an exception's name
(`raised_...`) also says `# Because: ...`, why the exception is what a learner should see. More prose may follow.

An edit is the text of a diff behind `# `: after `#   ` a line that is kept, after `# - ` one that is removed, after
`# + ` one that is added, each with its own indentation; a bare `#` is a kept empty line. `# ...` separates hunks. The
kept and removed lines of a hunk are neighbours, and occur exactly once in the exercise cell of the lesson's source,
where the markers of the solution region do not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from .edits import PROSE, edited
from .errors import BuildError, Problem
from .lesson import Lesson
from .source import SourceCell, read_cells

WRONG, RIGHT = "wrong", "right"
FOLDER = Path("tests/lessons")
NOT_A_DIAGNOSIS = frozenset({"passed", "unsolved", "unrecognised"})


@dataclass(frozen=True)
class Entry:
    """One answer of a bank.

    Attributes:
        path: The bank.
        line: The line of its cell.
        kind: "wrong" or "right".
        exercise: The exercise that it answers.
        name: The misconception, or the variant.
        source: The text that takes the place of the exercise cell.
        code: The code that the first failed check must report; "" for a right answer.
        seed: The seed of the case that it runs on; None for the one that a notebook shows.
        comment: The lines of prose at its top.
    """

    path: Path
    line: int
    kind: str
    exercise: str
    name: str
    source: str
    code: str = ""
    seed: int | None = None
    comment: tuple[str, ...] = ()

    def says(self, word: str) -> bool:
        """Return whether a line of the comment starts with a word, such as "Source", a colon and more."""
        return any(re.match(rf"# {word}: \S", line) for line in self.comment)


@dataclass(frozen=True)
class Bank:
    """The wrong or the right answers to one exercise.

    Attributes:
        path: The script, which may not exist yet.
        kind: "wrong" or "right".
        exercise: The exercise.
        opening: The text above the first cell.
        entries: The answers in order.
    """

    path: Path
    kind: str
    exercise: str
    opening: str = ""
    entries: tuple[Entry, ...] = ()


def bank_paths(root: Path, stem: str) -> list[Path]:
    """Return the banks of a lesson that exist, in the order of their names."""
    folder = _folder(root, stem)
    return sorted(path for kind in (WRONG, RIGHT) for path in folder.glob(f"*.{kind}.py"))


def _folder(root: Path, stem: str) -> Path:
    return root / FOLDER / stem.partition("_")[2]


def read_banks(root: Path, lesson: Lesson) -> list[Bank]:
    """Read the banks of a lesson: for each exercise the wrong answers, then the right ones.

    Args:
        root: The repository.
        lesson: The lesson.

    Returns:
        Two banks for each exercise, in the lesson's order; one without a file is empty.

    Raises:
        BuildError: with every fault of form, and every edit that does not apply.
    """
    problems: list[Problem] = []
    found: dict[tuple[str, str], Bank] = {}
    for path in bank_paths(root, lesson.stem):
        exercise, kind, _ = path.name.rsplit(".", 2)
        if exercise not in lesson.exercises:
            remedy = f"Name the bank for one of {', '.join(lesson.exercises)}"
            problems.append(Problem(path, 0, f"{lesson.stem} has no exercise '{exercise}'", remedy))
            continue
        try:
            found[exercise, kind] = _read_bank(path, kind, exercise, lesson.cell_of(exercise).source)
        except BuildError as error:
            problems += error.problems
    if problems:
        raise BuildError(problems)
    folder = _folder(root, lesson.stem)
    return [
        found.get((exercise, kind), Bank(folder / f"{exercise}.{kind}.py", kind, exercise))
        for exercise in lesson.exercises
        for kind in (WRONG, RIGHT)
    ]


def _read_bank(path: Path, kind: str, exercise: str, solution: str) -> Bank:
    opening, cells = read_cells(path)
    problems: list[Problem] = []
    entries = []
    for cell in cells:
        faults = [Problem(path, cell.line, fault, remedy) for fault, remedy in _header_faults(cell, kind)]
        problems += faults
        try:
            if not faults:
                entries.append(_entry(path, kind, exercise, solution, cell))
        except BuildError as error:
            problems += error.problems
    if problems:
        raise BuildError(problems)
    return Bank(path, kind, exercise, opening, tuple(entries))


def _entry(path: Path, kind: str, exercise: str, solution: str, cell: SourceCell) -> Entry:
    lines = cell.source.split("\n")
    comment = tuple(takewhile(PROSE.fullmatch, lines))
    source = cell.source
    if "edit" in cell.keys:
        numbered = enumerate(lines, start=cell.line + 1)
        edit_lines = [(number, line) for number, line in numbered if line][len(comment) :]
        if not edit_lines:
            raise BuildError([Problem(path, cell.line, "the edit is empty", "Add the lines that it changes")])
        source = edited(solution, path, edit_lines)
    return Entry(
        path,
        cell.line,
        kind,
        exercise,
        name=cell.keys.get("edit") or cell.keys["answer"],
        source=source,
        code=cell.keys.get("code", ""),
        seed=cell.keys.get("seed"),
        comment=comment,
    )


def _header_faults(cell: SourceCell, kind: str) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with the keys of a cell, each with its remedy."""
    keys = {"answer", "edit", "seed", *(["code"] if kind == WRONG else [])}
    for key in sorted(set(cell.keys) - keys):
        yield f"unknown cell key '{key}'", f"Use {', '.join(sorted(keys))} only"
    names = [cell.keys[key] for key in ("answer", "edit") if key in cell.keys]
    if cell.kind != "code" or len(names) != 1 or not str(names[0]).isidentifier():
        yield "the cell is neither an edit nor an answer", 'Start it with # %% edit="name", or # %% answer="name"'
    code = cell.keys.get("code", "")
    if kind == WRONG and (not str(code).isidentifier() or code in NOT_A_DIAGNOSIS):
        yield "the wrong answer declares no code", 'Add code="...", the misconception that the check must report'
    seed = cell.keys.get("seed", 0)
    if isinstance(seed, bool) or not isinstance(seed, int):
        yield f"seed={seed!r} is no whole number", "Write seed=20011"

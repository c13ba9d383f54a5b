"""Check the banks of a lesson against the rules that need no run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from .banks import RIGHT, WRONG, Bank, Entry
from .calls import functions_named, parsed
from .errors import Problem
from .lesson import Lesson
from .normalise import normalised

LEAST = {WRONG: 8, RIGHT: 3}
MOST_WRONG = 24  # more is a catalogue, not what students give
OBLIGATORY = ("plain_baseline", "hard_coded", "copied_from_lesson")
LIBRARY_SHORTCUT = "library_shortcut"
BY_HAND = "by hand"  # an exercise whose docstring says so owes a library_shortcut
NOT_HERE = re.compile(r"^(?:# )?Not here: (\w+), because \S", re.MULTILINE)
RAISED = "raised_"  # opens the code of a check that saw an exception: its name, which is no diagnosis


def bank_problems(lesson: Lesson, banks: Sequence[Bank]) -> list[Problem]:
    """Check the banks of a lesson against the rules that need no run.

    Args:
        lesson: The lesson.
        banks: Its banks.

    Returns:
        Every problem: names, origins, numbers, obligatory wrong answers, equal answers.
    """
    problems: list[Problem] = []
    for bank in banks:
        problems += _count_problems(bank)
        problems += _obligatory_problems(lesson, bank)
        problems += _sameness_problems(lesson, bank)
        for entry in bank.entries:
            problems += [Problem(bank.path, entry.line, *fault) for fault in _entry_faults(entry)]
    return problems


def _count_problems(bank: Bank) -> Iterator[Problem]:
    number, least = len(bank.entries), LEAST[bank.kind]
    if number < least:
        yield Problem(
            bank.path, 0, f"{number} {bank.kind} answers, fewer than {least}", "Add answers that students give"
        )
    if bank.kind == WRONG and number > MOST_WRONG:
        remedy = "Keep those that a student of this subject plausibly gives"
        yield Problem(bank.path, 0, f"{number} wrong answers, more than {MOST_WRONG}", remedy)


def _obligatory_problems(lesson: Lesson, bank: Bank) -> Iterator[Problem]:
    docstring = " ".join(lesson.cell_of(bank.exercise).source.split()).lower()
    names = (*OBLIGATORY, LIBRARY_SHORTCUT) if BY_HAND in docstring else OBLIGATORY
    present = {entry.name for entry in bank.entries} | set(NOT_HERE.findall(bank.opening))
    for name in names:
        if bank.kind == WRONG and name not in present:
            remedy = f"Add it, or open the bank with '# Not here: {name}, because ...'"
            yield Problem(bank.path, 0, f"the obligatory wrong answer '{name}' is missing", remedy)


def _sameness_problems(lesson: Lesson, bank: Bank) -> Iterator[Problem]:
    """Yield answers with the name of another one, and those that differ from another one in wording only."""
    forms = {normalised(lesson.cell_of(bank.exercise).source): "the solution"}
    names: set[str] = set()
    for entry in bank.entries:
        if entry.name in names:
            yield Problem(bank.path, entry.line, f"a second answer is named '{entry.name}'", "Rename one of them")
        names.add(entry.name)
        if parsed(entry.source) is None:
            continue
        first = forms.setdefault(normalised(entry.source), entry.name)
        if first != entry.name:
            yield Problem(bank.path, entry.line, f"'{entry.name}' is the same answer as {first}", "Remove one of them")


def _entry_faults(entry: Entry) -> Iterator[tuple[str, str]]:
    if not functions_named(entry.source, entry.exercise):
        remedy = "Make it valid Python, and the text of the whole exercise cell"
        yield f"'{entry.name}' defines no function '{entry.exercise}'", remedy
    if entry.kind == WRONG and not entry.says("Source"):
        yield f"'{entry.name}' does not say where it comes from", "Open the cell with '# Source: ...'"
    if entry.code.startswith(RAISED) and not entry.says("Because"):
        remedy = "Make the check name the misconception, or add '# Because: ...', why the exception is what to show"
        yield f"'{entry.name}' declares the name of an exception, '{entry.code}'", remedy

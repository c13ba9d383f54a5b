"""Proves that a table names each of its misconceptions by its own code."""

from __future__ import annotations

import re
from collections.abc import Iterable

from grader.judging.misconceptions import Misconception, Table
from grader.judging.references import Answer, Failed, ReferenceTable, Version

PROOF_SEEDS = (1, 2)
SECOND_PERSON = re.compile(r"\b[Yy]ours?\b|\b[Yy]ou\b")
CODE = re.compile(r"[a-z0-9]+(_[a-z0-9]+)*")


class UnprovenError(AssertionError):
    """A table that would name an answer wrongly."""


def prove(table: Table[Answer] | Table[object], seeds: Iterable[int] = PROOF_SEEDS) -> None:
    """Prove a table: its texts are diagnoses, and the values of each misconception are named by its own code.

    A misconception that is shown by what was recorded has no values to be proved with: only its texts are looked at.

    Raises:
        UnprovenError: if a diagnosis does not speak to the learner, if a misconception gives the reference's values or
            those of one above it in the table, or if it raises an error on a case.
    """
    for misconception in table.misconceptions:
        _require_texts(misconception.code, misconception.diagnosis)
    if isinstance(table, ReferenceTable):
        for seed in seeds:
            for misconception in table.misconceptions:
                for version in table.versions[misconception.code]:
                    _prove_version(table, misconception, version, seed)


def _require_texts(code: str, diagnosis: str) -> None:
    if not CODE.fullmatch(code):
        raise UnprovenError(f"the code {code!r} is not made of lower-case words joined by underscores")
    if not SECOND_PERSON.search(diagnosis) or not diagnosis[0].isupper() or diagnosis[-1] not in ".)":
        raise UnprovenError(f"the diagnosis of {code!r} is not made of sentences in the second person: {diagnosis!r}")


def _prove_version(table: ReferenceTable, misconception: Misconception[Answer], version: Version, seed: int) -> None:
    values, cases = table.values(version, seed), table.reference.cases(seed)
    for case, value in zip(cases, values, strict=True):
        if isinstance(value, Failed):
            raise UnprovenError(f"{misconception.code!r} raises {value.error} at seed {seed}, on the case {case}")
    answer = table.answer(seed, values)
    if answer.is_right:
        raise UnprovenError(f"{misconception.code!r} gives the reference's values at seed {seed}, on all of {cases}")
    found = table.find(answer)
    named = found.code if found else "nothing"
    if named not in (misconception.code, *misconception.same_as):
        raise UnprovenError(
            f"the values of {misconception.code!r} are named {named!r} at seed {seed}; the first that is wrong is "
            f"{answer.value} on the case {answer.case}"
        )

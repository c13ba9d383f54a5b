"""Rebuild a submission from the master's cells, taking only the text of answers and own cells from the learner."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass

import nbformat
from nbformat.notebooknode import NotebookNode

from grader.classroom.lesson.master import is_answer, is_graded, nbgrader_metadata

from .matching import MasterCell, Matching, defines, is_written, match_cells
from .reading import LearnerCell

OWN = "own-"  # how the ids of a learner's own cells begin
STUB = "lean_training_stub"  # in the metadata of an exercise's cell: its text as it was handed out

OTHER_LESSON = "no exercise of this lesson was found in it: is it the notebook of another lesson?"


@dataclass(frozen=True)
class Alignment:
    """A submission in the master's form.

    Attributes:
        notebook: The master's cells in the master's order, with the learner's answers and extra code cells.
        missing: Exercises whose cell the submission does not have.
        notes: What the instructor may want to know.
    """

    notebook: NotebookNode
    missing: tuple[str, ...]
    notes: tuple[str, ...]


def align(stub: NotebookNode, learner: Sequence[LearnerCell]) -> Alignment:
    """Put the learner's answers into the master's cells.

    Args:
        stub: The master with its answers removed.
        learner: The cells that were handed in.

    Returns:
        The notebook to run. An exercise that is not found keeps its stub.
    """
    known = [_known_by(cell) for cell in stub.cells]
    matching = match_cells(known, learner)
    merged = _answered_elsewhere(known, learner, matching)
    extras = _extra_cells(learner, matching)
    cells, missing = list(extras.get(-1, [])), []
    for index, cell in enumerate(stub.cells):
        rebuilt = copy.deepcopy(cell)
        if known[index].is_answer and cell.cell_type == "code":
            rebuilt.metadata[STUB] = str(cell.source)
        if index in merged:
            rebuilt.source = f"# exercise: {known[index].grade_id}\n# The answer is in another exercise's cell."
        elif known[index].is_answer and index in matching.chosen:
            rebuilt.source = learner[matching.chosen[index]].source
        elif known[index].is_answer:
            missing.append(known[index].grade_id)
        cells += [rebuilt, *extras.get(index, [])]
    notebook = copy.deepcopy(nbformat.from_dict({**stub, "cells": []}))
    notebook.cells = [_plain(cell, number) for number, cell in enumerate(cells)]
    notes = matching.notes + _missing_notes(known, missing) + _gone_checks(stub, matching)
    return Alignment(notebook, tuple(missing), tuple(notes))


def _known_by(cell: NotebookNode) -> MasterCell:
    grade_id = str(nbgrader_metadata(cell).get("grade_id", ""))
    return MasterCell(grade_id, str(cell.get("id", "")), str(cell.source), str(cell.cell_type), is_answer(cell))


def _answered_elsewhere(known: Sequence[MasterCell], learner: Sequence[LearnerCell], matching: Matching) -> set[int]:
    """Return the exercises answered in the cell of another one, whose stub must not replace the answer."""
    written = {at for index, at in matching.chosen.items() if is_written(known[index], learner[at])}
    answers = [learner[at].source for index, at in matching.chosen.items() if known[index].is_answer and at in written]
    merged = set()
    for index, cell in enumerate(known):
        is_open = cell.is_answer and matching.chosen.get(index) not in written
        if is_open and any(defines(text, cell.grade_id) for text in answers):
            merged.add(index)
            matching.notes.append(f"{cell.grade_id}: answered in the cell of another exercise")
    return merged


def _extra_cells(learner: Sequence[LearnerCell], matching: Matching) -> dict[int, list[NotebookNode]]:
    """Return the learner's own code cells, by the index of the master cell that they follow; -1 for the top."""
    extras: dict[int, list[NotebookNode]] = {}
    anchor = -1
    for at, cell in enumerate(learner):
        if at in matching.of_learner:
            anchor = matching.of_learner[at]
        elif cell.kind == "code" and cell.source.strip():
            extras.setdefault(anchor, []).append(nbformat.v4.new_code_cell(cell.source, id=f"{OWN}{at}"))
    return extras


def _plain(cell: NotebookNode, number: int) -> NotebookNode:
    """Drop outputs; keep the master's ids, and give each own cell a unique one."""
    if cell.cell_type == "code":
        cell.outputs, cell.execution_count = [], None
    if str(cell.get("id", "")).startswith(OWN):
        cell.id = f"{OWN}{number}"
    return cell


def _missing_notes(known: Sequence[MasterCell], missing: Sequence[str]) -> list[str]:
    answers = [cell for cell in known if cell.is_answer]
    if answers and len(missing) == len(answers):
        return [OTHER_LESSON]
    return [f"{name}: its cell is missing" for name in missing]


def _gone_checks(stub: NotebookNode, matching: Matching) -> list[str]:
    graded = {index for index, cell in enumerate(stub.cells) if is_graded(cell) and not is_answer(cell)}
    gone = sorted(graded - set(matching.chosen))
    if len(gone) == len(graded):
        return []
    return [
        f"{nbgrader_metadata(stub.cells[index])['grade_id']}: the cell was gone; the master's own is run"
        for index in gone
    ]

"""Match the cells of a submission to those of the master, even if metadata was lost, copied or renamed."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from .reading import LearnerCell

IDENTITY_LINE = re.compile(r"^\s*#\s*(?:exercise|check):\s*(\w+)", re.MULTILINE)
ALIKE = 0.6
NEARLY_EQUAL = 0.05
LONGEST_COMPARED = 20_000  # characters: comparing takes time with the square of the length
MOST_COMPARED = 200  # cells


@dataclass(frozen=True)
class MasterCell:
    """What identifies a cell of the master.

    Attributes:
        grade_id: nbgrader's id, or "".
        cell_id: The id of the notebook format, or "".
        source: Its text, answers removed.
        kind: "code" or "markdown".
        is_answer: Whether the learner writes in it.
    """

    grade_id: str
    cell_id: str
    source: str
    kind: str
    is_answer: bool


@dataclass
class Matching:
    """The match between the cells of a submission and those of the master.

    Attributes:
        of_learner: For each learner's cell, the index of its master cell; cells that match none are missing.
        chosen: For each master cell, the index of the learner's cell that counts.
        notes: What the instructor may want to know.
    """

    of_learner: dict[int, int] = field(default_factory=dict)
    chosen: dict[int, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def match_cells(master: Sequence[MasterCell], learner: Sequence[LearnerCell]) -> Matching:
    """Match by nbgrader's id, identity line, cell id, equal text, the function's name, and likeness, in this order."""
    matching = Matching()
    _claim(matching, master, learner, lambda cell, other: bool(cell.grade_id) and cell.grade_id == other.grade_id)
    _claim(matching, master, learner, lambda cell, other: bool(cell.grade_id) and cell.grade_id == _identity(other))
    _claim(matching, master, learner, _is_same_cell)
    _claim(matching, master, learner, lambda cell, other: cell.source.strip() == other.source.strip())
    _claim(matching, master, learner, lambda cell, other: cell.is_answer and defines(other.source, cell.grade_id))
    _drop_stubs(matching, master, learner)
    _claim_alike(matching, master, learner)
    _note_swapped_ids(matching, master, learner)
    return matching


def defines(source: str, function: str) -> bool:
    """Return whether the text defines a function of this name at its top level."""
    pattern = rf"^(?:async\s+)?def\s+{re.escape(function)}\s*\(|^{re.escape(function)}\s*="
    return bool(function) and re.search(pattern, source, re.MULTILINE) is not None


def _identity(cell: LearnerCell) -> str:
    found = IDENTITY_LINE.search(cell.source[:2000])
    return found.group(1) if found and cell.source[: found.start()].strip() == "" else ""


def _is_same_cell(cell: MasterCell, other: LearnerCell) -> bool:
    """Return whether the cell ids agree; an answer needs its function too, since ids of copies can collide."""
    if not cell.cell_id or cell.cell_id != other.cell_id:
        return False
    return not cell.is_answer or defines(other.source, cell.grade_id)


def _claim(
    matching: Matching,
    master: Sequence[MasterCell],
    learner: Sequence[LearnerCell],
    is_same: Callable[[MasterCell, LearnerCell], bool],
) -> None:
    """Claim every free cell of the learner's that is the same as a cell of the master; the last written one counts."""
    for index, cell in enumerate(master):
        free = [at for at in range(len(learner)) if at not in matching.of_learner]
        if cell.is_answer and index in matching.chosen:
            stub = matching.chosen[index]
            if is_written(cell, learner[stub]):
                continue  # another definition of the function is one of the learner's own cells, and runs in its place
            free = [at for at in free if at < stub]  # which a stub below it would replace
        same = [at for at in free if is_same(cell, learner[at])]
        written = [at for at in same if is_written(cell, learner[at])]
        defining = [at for at in written if cell.is_answer and defines(learner[at].source, cell.grade_id)]
        if defining:  # a copy that was made into something else is one of the learner's own cells
            same = [at for at in same if at in defining or at not in written]
        for at in same:
            matching.of_learner[at] = index
        if written or (same and index not in matching.chosen):
            matching.chosen[index] = (defining or written or same)[-1]
        if len(same) > 1 and cell.grade_id:
            what = "the last one counts" if cell.is_answer else "the master's own is run once"
            matching.notes.append(f"{cell.grade_id}: the cell is there {len(same)} times; {what}")


def is_written(cell: MasterCell, other: LearnerCell) -> bool:
    """Return whether a cell holds more than nothing and the exercise's stub."""
    return other.source.strip() not in ("", cell.source.strip())


def _drop_stubs(matching: Matching, master: Sequence[MasterCell], learner: Sequence[LearnerCell]) -> None:
    """Let no untouched copy of an exercise run below its answer."""
    stubs = {cell.source.strip(): index for index, cell in enumerate(master) if cell.is_answer and cell.source.strip()}
    for at, other in enumerate(learner):
        if at not in matching.of_learner and other.source.strip() in stubs:
            matching.of_learner[at] = stubs[other.source.strip()]


def _claim_alike(matching: Matching, master: Sequence[MasterCell], learner: Sequence[LearnerCell]) -> None:
    """Match the remaining cells by similarity of text: renamed answers, and cells of ours that were edited."""
    free = [at for at, other in enumerate(learner) if at not in matching.of_learner and other.source.strip()]
    if len(free) > MOST_COMPARED:
        matching.notes.append(f"{len(free)} cells match none of the lesson's; they were not compared by likeness")
        return
    for index, cell in enumerate(master):
        if index in matching.chosen:
            continue
        ranked = sorted(((_likeness(cell, learner[at]), at) for at in free), reverse=True)
        if not ranked or ranked[0][0] < ALIKE:
            continue
        best, at = ranked[0]
        if cell.is_answer and len(ranked) > 1 and ranked[1][0] > best - NEARLY_EQUAL:
            matching.notes.append(
                f"{cell.grade_id}: two cells look like it; please look whether the right one was graded"
            )
        elif cell.is_answer:
            matching.notes.append(f"{cell.grade_id}: found by likeness alone; please look whether it is the answer")
        matching.of_learner[at] = index
        matching.chosen[index] = at
        free.remove(at)


def _likeness(cell: MasterCell, other: LearnerCell) -> float:
    if cell.kind != other.kind or max(len(cell.source), len(other.source)) > LONGEST_COMPARED:
        return 0.0
    matcher = difflib.SequenceMatcher(None, cell.source, other.source, autojunk=False)
    if matcher.real_quick_ratio() < ALIKE or matcher.quick_ratio() < ALIKE:
        return 0.0
    return matcher.ratio()


def _note_swapped_ids(matching: Matching, master: Sequence[MasterCell], learner: Sequence[LearnerCell]) -> None:
    for index, at in matching.chosen.items():
        named = _identity(learner[at])
        known = {cell.grade_id for cell in master if cell.grade_id}
        if master[index].is_answer and named in known and named != master[index].grade_id:
            matching.notes.append(f"{master[index].grade_id}: its cell says {named}; please look at both answers")

"""Define the steps that nbgrader's converters run: rebuild, run, score, and hide what students must not see.

A classroom's `nbgrader_config.py` names them, so that nbgrader's commands, formgrader and this package grade alike.
"""

from __future__ import annotations

import copy
import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from nbconvert.exporters import NotebookExporter
from nbformat.notebooknode import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor, SaveAutoGrades
from traitlets import Bool, Integer, List, Unicode

from grader.classroom.base.row import NOT_GRADABLE, Score
from grader.classroom.handed_in.alignment import align
from grader.classroom.handed_in.reading import LearnerCell, Unreadable, parse_cells, read_plain_file
from grader.classroom.jobs.job import Job, read_support, run_job
from grader.classroom.jobs.seeds import classroom_secret, submission_seed
from grader.classroom.lesson.demonstrations import left_out_cells
from grader.classroom.lesson.hidden_tests import hide_hidden_tests, telling_words
from grader.classroom.lesson.master import judged_check, master_path, read_stub
from grader.classroom.running.execution import NOT_RUN, Execution, Limits
from grader.classroom.running.fork_client import can_fork
from grader.classroom.sandbox.confinement import AUTO, Bounds
from grader.classroom.scoring.comments import comment_on, note_verdicts
from grader.classroom.scoring.scores import score_notebook, unreadable_scores
from grader.units import MIB

OURS = "lean_training"  # the key of what one step hands to the next, in the notebook's metadata and in the resources
NOT_RUN_HERE = "lean_training_not_run"  # in the metadata of a demonstration that this run left out
Resources = dict[str, Any]


def notebook_of(cells: tuple[LearnerCell, ...]) -> NotebookNode:
    """Return a notebook of a submission's cells, without anything else of it."""
    built = []
    for number, cell in enumerate(cells):
        metadata: dict[str, Any] = {"nbgrader": {"grade_id": cell.grade_id}} if cell.grade_id else {}
        plain: dict[str, Any] = {"id": f"cell-{number}", "cell_type": "markdown", "source": cell.source}
        plain |= {"metadata": metadata | {OURS: {"cell_id": cell.cell_id}}}
        if cell.kind == "code":
            plain |= {"cell_type": "code", "outputs": [], "execution_count": None}
        built.append(plain)  # not by nbformat's functions, each of which validates the one cell that it makes
    return nbformat.v4.new_notebook(cells=nbformat.from_dict(built))


def unreadable_notebook(reason: str) -> NotebookNode:
    """Return the notebook that replaces an unreadable submission."""
    return nbformat.v4.new_notebook(metadata={OURS: {"unreadable": reason}})


class SubmissionExporter(NotebookExporter):  # type: ignore[misc]  # nbconvert has no types
    """Opens any file: one that is no notebook becomes an empty notebook that says why."""

    def from_filename(self, filename: str, resources: Resources | None = None, **kw: Any) -> tuple[str, Resources]:
        """Open the file, whatever it holds, and run the steps on it."""
        resources = resources if resources is not None else {}
        resources["metadata"] = {"name": Path(filename).stem, "path": str(Path(filename).parent)}
        try:
            content = read_plain_file(Path(filename))
            cells = parse_cells(content)
            written = nbformat.reads(content.decode("utf-8-sig"), as_version=nbformat.NO_CONVERT)
            is_ours = written.get("nbformat") == 4 and OURS in written.metadata  # written by an earlier step
            notebook = written if is_ours else notebook_of(cells)
        except Unreadable as error:
            notebook = unreadable_notebook(str(error))
        output, resources = self.from_notebook_node(notebook, resources=resources, **kw)
        return str(output), resources


@dataclass(frozen=True)
class Scored:
    """The result of the steps for one submission.

    Attributes:
        execution: What its notebook did.
        scores: The score of each check, as the grader gave it.
        points: The points of each check that the gradebook has, where a manual grade takes precedence.
        unreadable: Why there was no notebook to run, or "".
        notes: What was noticed while it was rebuilt.
    """

    execution: Execution
    scores: tuple[Score, ...]
    points: dict[str, float]
    unreadable: str
    notes: tuple[str, ...]


class ClassroomStep(NbGraderPreprocessor):  # type: ignore[misc]  # nbgrader has no types
    """A step that knows the classroom."""

    classroom = Unicode(help="The classroom's folder.").tag(config=True)

    def folder(self) -> Path:
        """Return the classroom's folder."""
        return Path(self.classroom or os.getcwd())


class RebuildFromMaster(ClassroomStep):
    """Take the master's cells in the master's order, with only the text of the learner's answers and own cells."""

    def preprocess(self, nb: NotebookNode, resources: Resources) -> tuple[NotebookNode, Resources]:
        """Rebuild one submission; what was noticed goes into the notebook's metadata."""
        names = resources["nbgrader"]
        stub = read_stub(master_path(self.folder(), names["assignment"], names["notebook"]))
        reason = nb.metadata.get(OURS, {}).get("unreadable", "")
        if reason:
            stub.metadata[OURS] = {"unreadable": str(reason), "missing": [], "notes": []}
            return stub, resources
        alignment = align(stub, [_learner_cell(cell) for cell in nb.cells])
        noticed = {"unreadable": "", "missing": list(alignment.missing), "notes": list(alignment.notes)}
        alignment.notebook.metadata[OURS] = noticed
        return alignment.notebook, resources


def _learner_cell(cell: NotebookNode) -> LearnerCell:
    grade_id = cell.metadata.get("nbgrader", {}).get("grade_id", "")
    cell_id = cell.metadata.get(OURS, {}).get("cell_id", "")
    return LearnerCell(cell.cell_type, cell.source, str(grade_id), str(cell_id))


class RunCells(ClassroomStep):
    """Run the rebuilt notebook in a process of its own, or take the run that was made for it beforehand."""

    cell_seconds = Integer(120, help="Limit of one cell, in seconds.").tag(config=True)
    notebook_seconds = Integer(600, help="Limit of all cells of a notebook together, in seconds.").tag(config=True)
    run_demonstrations = Bool(False, help="Run cells of the lesson that are not given, answered or graded.").tag(
        config=True
    )
    is_forked = Bool(can_fork(), help="Fork kernels from a process that has imported the course's libraries.").tag(
        config=True
    )
    sandbox = Unicode(AUTO, help="Level of the sandbox; auto for the best that this machine allows.").tag(config=True)
    is_unsafe = Bool(False, help="Run without a sandbox where the machine allows none.").tag(config=True)
    memory_mib = Integer(Bounds.memory_bytes // MIB, help="Memory of a submission's processes, in MiB.").tag(
        config=True
    )
    scratch_mib = Integer(Bounds.scratch_bytes // MIB, help="Files that a submission writes, in MiB.").tag(config=True)
    processes = Integer(Bounds.processes, help="Processes and threads of a submission.").tag(config=True)
    readable = List(Unicode(), help="Folders that submissions may read, for example one of data sets.").tag(config=True)
    kernel_name = Unicode("", help="Kernel to run; empty for the one that the master names.").tag(config=True)

    def preprocess(self, nb: NotebookNode, resources: Resources) -> tuple[NotebookNode, Resources]:
        """Run the cells; the run itself goes on to scoring as plain data."""
        noticed = nb.metadata.get(OURS, {})
        if noticed.get("unreadable"):
            execution = Execution(end=NOT_RUN, reason=noticed["unreadable"])
        else:
            ready = resources.get("executions", {})
            execution = ready.get(fingerprint(nb)) or self.execute(nb, resources["nbgrader"])
        for index, run in execution.cells.items():
            nb.cells[index].outputs = [nbformat.from_dict(output) for output in run.outputs]
        for index in execution.left_out:
            nb.cells[index].metadata[NOT_RUN_HERE] = True
        resources[OURS] = execution
        return nb, resources

    def execute(self, nb: NotebookNode, names: Mapping[str, str]) -> Execution:
        """Run the rebuilt notebook of the student and the lesson that nbgrader names.

        Raises:
            CannotRun: if no kernel started.
        """
        return run_job(self.job(nb, names["assignment"], names["student"]))

    def job(self, nb: NotebookNode, lesson: str, student: str) -> Job:
        """Return what is to be run for a rebuilt notebook: two that differ only in our notes make equal jobs."""
        run = copy.copy(nb)
        run.metadata = nbformat.from_dict({name: value for name, value in nb.metadata.items() if name != OURS})
        return Job(
            nbformat.writes(run),
            lesson,
            self._seed(nb, lesson, student),
            Limits(
                self.cell_seconds,
                self.notebook_seconds,
                self.memory_mib * MIB,
                self.scratch_mib * MIB,
                self.processes,
            ),
            support=read_support(self.folder() / "source" / lesson),
            kernel=self.kernel_name,
            is_forked=self.is_forked,
            sandbox=self.sandbox,
            is_unsafe=self.is_unsafe,
            readable=tuple(self.readable),
            hidden=(str(self.folder()),),
            left_out=() if self.run_demonstrations else left_out_cells(nb),
        )

    def _seed(self, nb: NotebookNode, lesson: str, student: str) -> int:
        """Return the seed of a run: one for the class where no check of the notebook is judged on a case."""
        is_judged = any(judged_check(cell) for cell in nb.cells)
        sources = [str(cell.source) for cell in nb.cells if cell.cell_type == "code"]
        return submission_seed(
            classroom_secret(self.folder()), lesson, *((student, sources) if is_judged else ("", []))
        )


def fingerprint(nb: NotebookNode) -> str:
    """Return the digest of what a run of this notebook depends on."""
    text = "\0".join(f"{cell.cell_type}\1{cell.source}" for cell in nb.cells)
    return hashlib.sha256(text.encode()).hexdigest()


class SaveVerdicts(SaveAutoGrades):  # type: ignore[misc]  # nbgrader has no types
    """Score the run and write points and comments to the gradebook, where a manual grade still takes precedence."""

    def preprocess(self, nb: NotebookNode, resources: Resources) -> tuple[NotebookNode, Resources]:
        """Score one notebook."""
        noticed = nb.metadata.get(OURS, {})
        execution = resources[OURS]
        if noticed.get("unreadable"):
            scores = unreadable_scores(nb, noticed["unreadable"])
        else:
            scores = score_notebook(nb, execution, noticed.get("missing", ()))
        self._scores: dict[str, Score] = {score.check: score for score in scores}
        self._points: dict[str, float] = {}
        nb, resources = super().preprocess(note_verdicts(nb, scores, OURS), resources)
        notes = tuple(noticed.get("notes", ()))
        resources[OURS] = Scored(execution, tuple(scores), self._points, noticed.get("unreadable", ""), notes)
        return nb, resources

    def _add_score(self, cell: NotebookNode, resources: Resources) -> None:
        name = cell.metadata.nbgrader["grade_id"]
        score = self._scores[name]
        grade = self.gradebook.find_grade(name, self.notebook_id, self.assignment_id, self.student_id)
        grade.auto_score = 0.0 if score.verdict == NOT_GRADABLE else score.points
        grade.needs_manual_grade = grade.manual_score is not None or score.points is None or score.needs_review
        given = grade.manual_score if grade.manual_score is not None else (score.points or 0.0)
        self._points[name] = float(given + (grade.extra_credit or 0.0))
        self.gradebook.db.commit()

    def _add_comment(self, cell: NotebookNode, resources: Resources) -> None:
        super()._add_comment(cell, resources)
        name = cell.metadata.nbgrader["grade_id"]
        text = comment_on([score for score in self._scores.values() if score.exercise == name])
        if text:
            comment = self.gradebook.find_comment(name, self.notebook_id, self.assignment_id, self.student_id)
            comment.auto_comment = text
            self.gradebook.db.commit()


class HideHiddenTests(NbGraderPreprocessor):  # type: ignore[misc]  # nbgrader has no types
    """Keep hidden tests and mark schemes out of the feedback that students get."""

    display_data_priority = List([]).tag(config=True)  # nbconvert's HTML settings name it for every step

    def preprocess(self, nb: NotebookNode, resources: Resources) -> tuple[NotebookNode, Resources]:
        """Hide them in one notebook."""
        quotes = telling_words(nb.cells)
        nb.cells = [hide_hidden_tests(cell, quotes) for cell in nb.cells]
        return nb, resources

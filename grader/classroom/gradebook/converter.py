"""Convert one submission as nbgrader does, and hand its scores back."""

from __future__ import annotations

import contextlib
import glob
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from nbconvert.exporters import Exporter
from nbformat.notebooknode import NotebookNode
from nbgrader.converters import Autograde, GenerateFeedback
from nbgrader.converters.base import NbGraderException
from nbgrader.preprocessors import CheckCellMetadata

from grader.classroom.running.execution import Execution

from .steps import OURS, Scored

CHECK_METADATA = (CheckCellMetadata, "nbgrader.preprocessors.CheckCellMetadata")
Resources = dict[str, Any]


class CheckMetadataOnce(CheckCellMetadata):  # type: ignore[misc]  # nbgrader has no types
    """nbgrader's check of the cells' metadata, which are the master's and so the same in a whole class."""

    def __init__(self, **kw: Any):
        super().__init__(**kw)
        self._passed: set[str] = set()

    def preprocess(self, nb: NotebookNode, resources: Resources) -> tuple[NotebookNode, Resources]:
        """Check metadata that have not passed yet."""
        seen = json.dumps([(cell.cell_type, cell.metadata.get("nbgrader")) for cell in nb.cells], default=str)
        if seen not in self._passed:
            nb, resources = super().preprocess(nb, resources)
            self._passed = {*list(self._passed)[-8:], seen}
        return nb, resources


def register_steps(exporter: Exporter, steps: Iterable[Any], check: CheckMetadataOnce) -> None:
    """Give an exporter the steps of a list in `nbgrader_config.py`, and no others."""
    exporter._preprocessors = []
    exporter.optimistic_validation = True  # of the notebook, once, after the last step
    for step in steps:
        exporter.register_preprocessor(check if step in CHECK_METADATA else step)


class PlainFolders:
    """Finds the notebooks in folders whose names hold characters that a pattern would read as its own."""

    coursedir: Any
    _format_source: Any

    def init_notebooks(self) -> None:
        """List each folder of the assignment with its notebooks."""
        folders = glob.glob(self._format_source(self.coursedir.assignment_id, self.coursedir.student_id))
        found = {folder: glob.glob(f"{glob.escape(folder)}/{self.coursedir.notebook_id}.ipynb") for folder in folders}
        self.assignments = {folder: notebooks for folder, notebooks in found.items() if notebooks}
        self.notebooks: list[str] = []
        if not self.assignments:
            raise NbGraderException(f"no notebook of {self.coursedir.assignment_id} was found")


class ClassFeedback(PlainFolders, GenerateFeedback):  # type: ignore[misc]  # nbgrader has no types
    """nbgrader's converter for the pages of a lesson."""


class ClassAutograde(PlainFolders, Autograde):  # type: ignore[misc]  # nbgrader has no types
    """nbgrader's converter for one submission, with its run made beforehand, and its scores handed back."""

    executions: Mapping[str, Execution] = {}
    check: CheckMetadataOnce
    result: Scored | None = None
    failure: BaseException | None = None

    def _init_preprocessors(self) -> None:
        """Register the second list of steps only: the first has rebuilt the notebook already, for its run."""
        if self._sanitizing:
            self.exporter._preprocessors, self.exporter.optimistic_validation = [], False
        else:
            register_steps(self.exporter, self.autograde_preprocessors, self.check)

    def init_single_notebook_resources(self, notebook_filename: str) -> Resources:
        """Hand the runs to the steps."""
        resources: Resources = super().init_single_notebook_resources(notebook_filename)
        return resources | {"executions": self.executions}

    def init_destination(self, assignment_id: str, student_id: str) -> bool:
        """Remove what an earlier grading wrote; keep the error, which nbgrader only logs."""
        with self._kept():
            return bool(super().init_destination(assignment_id, student_id))

    def init_assignment(self, assignment_id: str, student_id: str) -> None:
        """Start a submission; keep the error, which nbgrader only logs."""
        with self._kept():
            super().init_assignment(assignment_id, student_id)

    def convert_single_notebook(self, notebook_filename: str) -> None:
        """Convert one notebook; keep the error, which nbgrader only logs."""
        with self._kept():
            super().convert_single_notebook(notebook_filename)

    def write_single_notebook(self, output: str, resources: Resources) -> None:
        """Write the notebook; keep what the scoring step found."""
        super().write_single_notebook(output, resources)
        scored = resources.get(OURS)
        self.result = scored if isinstance(scored, Scored) else self.result

    @contextlib.contextmanager
    def _kept(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self.failure = error
            raise

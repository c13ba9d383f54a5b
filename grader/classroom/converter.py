"""nbgrader's converter for one submission, which hands its scores back."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from nbgrader.converters import Autograde

from .execution import Execution
from .steps import OURS

Resources = dict[str, Any]


class ClassAutograde(Autograde):  # type: ignore[misc]  # nbgrader has no types
    """nbgrader's converter for one submission, with its run made beforehand, and its scores handed back."""

    executions: Mapping[str, Execution] = {}
    result: Resources | None = None
    failure: BaseException | None = None

    def init_single_notebook_resources(self, notebook_filename: str) -> Resources:
        """Hand the runs to the steps."""
        resources: Resources = super().init_single_notebook_resources(notebook_filename)
        return resources | {"executions": self.executions}

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
        self.result = resources.get(OURS, self.result)

    @contextlib.contextmanager
    def _kept(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self.failure = error
            raise

"""The dotted names that settings and installed metadata hold keep working."""

from __future__ import annotations

import importlib.metadata
import pkgutil

import pytest

# As the settings of earlier versions wrote them; a classroom keeps its settings for years.
NAMES = (
    "grader.classroom.feedback.FeedbackExporter",
    "grader.classroom.feedback.TellMark",
    "grader.classroom.formgrader_times.show_received_times",
    "grader.classroom.late.PercentPerDay",
    "grader.classroom.late.StampReceived",
    "grader.classroom.lms_names.LmsNames",
    "grader.classroom.steps.HideHiddenTests",
    "grader.classroom.steps.RebuildFromMaster",
    "grader.classroom.steps.RunCells",
    "grader.classroom.steps.SaveVerdicts",
    "grader.classroom.steps.SubmissionExporter",
)


@pytest.mark.parametrize("name", NAMES)
def test_names_in_the_settings_of_earlier_versions_load(name: str) -> None:
    assert callable(pkgutil.resolve_name(name))


def test_the_kernel_provisioner_loads_by_its_entry_point() -> None:
    found = importlib.metadata.entry_points(group="jupyter_client.kernel_provisioners")["lean-training-fork"]
    assert found.value == "grader.classroom.provisioner:ForkProvisioner"
    assert found.load().__name__ == "ForkProvisioner"

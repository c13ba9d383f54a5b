"""Control groups: made where a system hands over a group, and never in the way where it does not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from grader.classroom.sandbox import control_group, warden
from grader.classroom.sandbox.confinement import Bounds
from grader.classroom.sandbox.control_group import DelegatedGroup, KernelGroup, command_of_a_scope
from grader.units import GIB, MIB

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="control groups are Linux's")


@pytest.fixture
def delegated(tmp_path: Path) -> Path:
    """A folder of files like those that Linux shows for a group."""
    (tmp_path / "cgroup.controllers").write_text("cpu memory pids\n")
    for name in ("cgroup.procs", "cgroup.subtree_control"):
        (tmp_path / name).touch()
    return tmp_path


def opened(folder: Path) -> KernelGroup:
    """Make the group of this process, with the files that Linux would put there."""
    place = folder / f"kernel-{os.getpid()}"
    place.mkdir()
    (place / "cgroup.procs").touch()
    (place / "memory.events").write_text("low 0\nhigh 0\nmax 3\noom 1\noom_kill 0\noom_group_kill 0\n")
    taken = DelegatedGroup.take(folder)
    assert taken is not None
    group = taken.open_group(Bounds(memory_bytes=GIB, scratch_bytes=512 * MIB))
    assert group is not None
    return group


def test_a_kernel_gets_a_group_with_the_memory_and_the_files_that_it_may_hold(delegated: Path) -> None:
    group = opened(delegated)
    place = delegated / f"kernel-{os.getpid()}"
    assert (delegated / "server" / "cgroup.procs").read_text() == str(os.getpid())
    assert (delegated / "cgroup.subtree_control").read_text() == "+memory"
    limits = {path.name: path.read_text() for path in place.glob("memory.*") if path.name != "memory.events"}
    assert limits == {"memory.max": str(GIB + 512 * MIB), "memory.oom.group": "1", "memory.swap.max": "0"}
    assert min(group.members, group.events) >= control_group.FREE_DESCRIPTORS
    group.enter()
    assert (place / "cgroup.procs").read_text() == "0"
    assert not group.was_exceeded()  # its files are closed


def test_what_the_system_ended_for_its_memory_is_told(delegated: Path) -> None:
    group = opened(delegated)
    assert not group.was_exceeded()
    (delegated / f"kernel-{os.getpid()}" / "memory.events").write_text("oom 1\noom_kill 2\noom_group_kill 1\n")
    assert group.was_exceeded()
    child = subprocess.Popen(["kill", "-9", "0"], start_new_session=True)
    reader, writer = os.pipe()
    code = warden.watch(
        child.pid, reader, Bounds(), when_ready=lambda: None, members=lambda: [], was_exceeded=group.was_exceeded
    )
    child.returncode = code  # the warden has reaped it
    assert code == warden.TOO_MUCH_MEMORY
    assert "held more than" in warden.reason_of(code, Bounds())
    os.close(writer)
    group.close()


def test_a_group_that_cannot_be_divided_is_left_as_it_was(delegated: Path) -> None:
    (delegated / "cgroup.controllers").write_text("cpu pids\n")
    assert DelegatedGroup.take(delegated) is None
    assert not (delegated / "server").exists()
    (delegated / "cgroup.controllers").write_text("memory\n")
    (delegated / "cgroup.subtree_control").unlink()
    (delegated / "cgroup.subtree_control").mkdir()  # writing fails, as where others are in the group
    assert DelegatedGroup.take(delegated) is None
    assert (delegated / "cgroup.procs").read_text() == str(os.getpid())


def test_a_machine_without_memory_control_has_no_scope_to_give(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, delegated: Path
) -> None:
    command_of_a_scope.cache_clear()
    monkeypatch.setattr(control_group, "HIERARCHY", tmp_path / "none")
    assert command_of_a_scope() == ()
    command_of_a_scope.cache_clear()
    monkeypatch.setattr(control_group, "HIERARCHY", delegated)
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "systemd-run").write_text("#!/bin/sh\nexit 1\n")  # no manager answers
    (programs / "systemd-run").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    assert command_of_a_scope() == ()
    command_of_a_scope.cache_clear()
    (programs / "systemd-run").write_text("#!/bin/sh\nexit 0\n")
    assert command_of_a_scope()[0].endswith("systemd-run") and command_of_a_scope()[-1] == "--"
    command_of_a_scope.cache_clear()

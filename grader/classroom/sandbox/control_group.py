"""Bound a kernel's memory by a control group (cgroup v2), where the system hands one over: then every page counts.

A fork server that runs in a group of its own, which systemd delegates to it, makes one group for each kernel in it. No
right of root is needed. Where there is no such group, the warden's count is all there is.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .confinement import Bounds

HIERARCHY = Path("/sys/fs/cgroup")
MEMORY, SERVER = "memory", "server"
FREE_DESCRIPTORS = 80  # above all that a caller hands over
PROBE_SECONDS = 10


@functools.cache
def command_of_a_scope() -> tuple[str, ...]:
    """Return the words before a command that run it in a group of its own; () where this machine has none to give."""
    program = shutil.which("systemd-run")
    if program is None or not _has_memory(HIERARCHY):
        return ()
    manager = () if os.getuid() == 0 else ("--user",)
    words = (program, *manager, "--scope", "--quiet", "--collect", "--property=Delegate=yes", "--")
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        nothing = subprocess.DEVNULL
        probe = subprocess.run([*words, "true"], stdin=nothing, stdout=nothing, stderr=nothing, timeout=PROBE_SECONDS)
        return words if probe.returncode == 0 else ()
    return ()


def _has_memory(folder: Path) -> bool:
    try:
        return MEMORY in (folder / "cgroup.controllers").read_text().split()
    except OSError:
        return False


@dataclass(frozen=True)
class KernelGroup:
    """The group of one kernel, by two open files: they stay usable where the kernel's file system lacks them."""

    members: int
    events: int

    def enter(self) -> None:
        """Move this process into the group; what it starts from now on is in it, too."""
        with contextlib.suppress(OSError):
            os.write(self.members, b"0")
        self.close()

    def close(self) -> None:
        """Close both files."""
        for descriptor in (self.members, self.events):
            with contextlib.suppress(OSError):
                os.close(descriptor)

    def was_exceeded(self) -> bool:
        """Return whether the system ended a process because the group held too much."""
        with contextlib.suppress(OSError, ValueError):
            for line in os.pread(self.events, 4096, 0).decode().splitlines():
                name, _, count = line.partition(" ")
                if name == "oom_kill":
                    return int(count) > 0
        return False


@dataclass(frozen=True)
class DelegatedGroup:
    """A group in which this process may make others."""

    folder: Path

    @classmethod
    def take(cls, folder: Path | None = None) -> DelegatedGroup | None:
        """Move this process to a leaf of its own group, since only a group without processes bounds those in it.

        Returns:
            The group; None if it is nobody's to divide, or somebody else is in it.
        """
        folder = folder or _own_folder()
        if folder is None or not _has_memory(folder):
            return None
        leaf = folder / SERVER
        try:
            leaf.mkdir()
            (leaf / "cgroup.procs").write_text(str(os.getpid()))
            (folder / "cgroup.subtree_control").write_text(f"+{MEMORY}")
        except OSError:
            with contextlib.suppress(OSError):
                (folder / "cgroup.procs").write_text(str(os.getpid()))
            with contextlib.suppress(OSError):
                leaf.rmdir()
            return None
        return cls(folder)

    def open_group(self, bounds: Bounds) -> KernelGroup | None:
        """Make the group of the kernel that this process becomes; files that it writes into memory count as well."""
        group = self.folder / f"kernel-{os.getpid()}"
        most = {"max": str(bounds.memory_bytes + bounds.scratch_bytes), "oom.group": "1"}
        try:
            group.mkdir(exist_ok=True)
            for name, value in most.items():
                (group / f"{MEMORY}.{name}").write_text(value)
            with contextlib.suppress(OSError):  # a system without swap has no such file
                (group / f"{MEMORY}.swap.max").write_text("0")
            members = _open_high(group / "cgroup.procs", os.O_WRONLY)
            return KernelGroup(members, _open_high(group / f"{MEMORY}.events", os.O_RDONLY))
        except OSError:
            return None

    def remove_group(self, process: int) -> None:
        """Remove the group of a kernel that has ended."""
        group = self.folder / f"kernel-{process}"
        with contextlib.suppress(OSError):
            (group / "cgroup.kill").write_text("1")
        with contextlib.suppress(OSError):
            group.rmdir()


def _own_folder() -> Path | None:
    """Return the folder of this process's group."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            if line.startswith("0::"):
                return HIERARCHY / line.removeprefix("0::").lstrip("/")
    return None


def _open_high(path: Path, flags: int) -> int:
    """Open a file with a number that no descriptor of the kernel's gets."""
    descriptor = os.open(path, flags | os.O_CLOEXEC)
    try:
        return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, FREE_DESCRIPTORS)
    finally:
        os.close(descriptor)

"""Watch over a confined kernel from a process of its own: start it, count what it holds, and end it.

It computes nothing for the learner, and the learner cannot reach it: it is the first process of its namespaces, or
is outside of them.
"""

from __future__ import annotations

import contextlib
import os
import resource
import select
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from grader.units import format_bytes

from .confinement import Bounds

WATCH_SECONDS = 0.5
COUNT_SECONDS = 0.1  # processes can double many times in half a second
NICENESS = 5  # what watches over a kernel, or talks to it, comes before it
LOOK_SECONDS = 0.2
UNLINKED = (b"/dev/zero (deleted)", b"/memfd:", b"/SYSV")  # what Linux calls memory that processes share
MOST_OPEN_FILES = 4096
TOO_MUCH_MEMORY, TOO_MANY_PROCESSES, TOO_LARGE_FILES = (
    121,
    122,
    123,
)  # exit codes, distinct from those of Python and of signals
_PAGE = resource.getpagesize()


def reason_of(code: int | None, bounds: Bounds) -> str:
    """Return why the warden ended a kernel, "" if it did not."""
    return {
        TOO_MUCH_MEMORY: f"its processes held more than {format_bytes(bounds.memory_bytes)} of memory",
        TOO_MANY_PROCESSES: f"it started more than {bounds.processes} processes",
        TOO_LARGE_FILES: f"it wrote more than {format_bytes(bounds.scratch_bytes)} of files",
    }.get(code or 0, "")


def set_limits(bounds: Bounds) -> None:
    """Set the limits that the system itself keeps for each process."""
    data = bounds.memory_bytes + _status_bytes("self", "VmData")
    for kind, most in (
        (resource.RLIMIT_DATA, data),
        (resource.RLIMIT_FSIZE, bounds.scratch_bytes),
        (resource.RLIMIT_CPU, bounds.cpu_seconds),
        (resource.RLIMIT_NOFILE, MOST_OPEN_FILES),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(kind)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, most))
    os.nice(NICENESS)
    with contextlib.suppress(OSError):  # the first to go, where the machine runs out of memory
        Path("/proc/self/oom_score_adj").write_text("1000")


def watch(
    process: int,
    ready: int,
    bounds: Bounds,
    *,
    when_ready: Callable[[], None],
    members: Callable[[], Iterable[int]],
    scratch: str = "",
    was_exceeded: Callable[[], bool] = lambda: False,
) -> int:
    """Watch over a process until its end.

    Args:
        process: The process, a child of this one.
        ready: Descriptor from which one byte can be read when the process is ready.
        bounds: How much it and all that it starts may hold.
        when_ready: Called when it is ready.
        members: Returns the processes that count, by number.
        scratch: Folder whose size counts too, where no file system of its own keeps it small.
        was_exceeded: Returns whether the system itself ended a process for its memory.

    Returns:
        How it ended: an exit code, that of a shell for a signal, or one of this module's.
    """
    waiting = select.poll()
    waiting.register(ready, select.POLLIN)
    death = os.pidfd_open(process)
    waiting.register(death, select.POLLIN)
    looked = time.monotonic()
    while True:
        events = dict(waiting.poll(COUNT_SECONDS * 1000))
        if ready in events:
            waiting.unregister(ready)
            if os.read(ready, 1):
                when_ready()
        if death in events:
            code = _exit_code(process)
            return TOO_MUCH_MEMORY if was_exceeded() else code
        _reap(process)
        found = list(members())
        if len(found) > bounds.processes:
            return TOO_MANY_PROCESSES
        if time.monotonic() - looked >= WATCH_SECONDS:
            looked = time.monotonic()
            excess = _excess(found, bounds, scratch)
            if excess:
                return excess


def _reap(process: int) -> None:
    """Let go of ended processes whose parents have ended; the watched one is waited for by its end alone."""
    with contextlib.suppress(ChildProcessError):
        while True:
            found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if found is None or found.si_pid == process:
                return
            os.waitpid(found.si_pid, 0)


def _exit_code(process: int) -> int:
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    return code if code >= 0 else 128 - code


def _excess(members: list[int], bounds: Bounds, scratch: str) -> int:
    if sum(_threads(member) for member in members) > bounds.processes:
        return TOO_MANY_PROCESSES
    if _hold_more(members, bounds.memory_bytes - _shared_bytes(members)):
        return TOO_MUCH_MEMORY
    if scratch and _folder_bytes(scratch) > bounds.scratch_bytes:
        return TOO_LARGE_FILES
    return 0


def _hold_more(members: list[int], most_bytes: int) -> bool:
    """Return whether processes hold more memory together, each of its own or copied from the process that forked it.

    A quick look counts what forks share once for each of them. Only where that is too much, the shares of the largest
    are read, which takes Linux long, and the rest is taken to be like them.
    """
    apparent = {member: _apparent_bytes(member) for member in members}
    if sum(apparent.values()) <= most_bytes:
        return False
    began, held, seen = time.monotonic(), 0, 0
    for member in sorted(apparent, key=lambda process: -apparent[process]):
        held, seen = held + _held_bytes(member), seen + apparent[member]
        if held > most_bytes:
            return True
        if time.monotonic() - began > LOOK_SECONDS:
            return held * sum(apparent.values()) > most_bytes * seen
    return False


def all_others() -> list[int]:
    """Return every process of this namespace but this one."""
    return [int(name) for name in os.listdir("/proc") if name.isdecimal() and int(name) != os.getpid()]


def others_of_session() -> list[int]:
    """Return the processes of this session but this one."""
    return [process for process in all_others() if _session(process) == os.getsid(0)]


def _session(process: int) -> int:
    try:
        return os.getsid(process)
    except OSError:
        return -1


def _threads(process: int) -> int:
    try:
        return len(os.listdir(f"/proc/{process}/task"))
    except OSError:
        return 0


def _shared_bytes(members: Iterable[int]) -> int:
    """Return the memory that processes have mapped as shared, each piece once, whether they still look at it or not."""
    sizes: dict[bytes, int] = {}
    for member in members:
        with contextlib.suppress(OSError), open(f"/proc/{member}/maps", "rb") as file:
            for line in file:
                if any(name in line for name in UNLINKED):
                    places, _, offset, _, inode = line.split(maxsplit=5)[:5]
                    first, _, end = places.partition(b"-")
                    size = int(offset, 16) + int(end, 16) - int(first, 16)
                    sizes[inode] = max(size, sizes.get(inode, 0))
    return sum(sizes.values())


def _apparent_bytes(process: int) -> int:
    """Return the memory that a process has touched, less files and what is mapped as shared."""
    try:
        resident, files = map(int, Path(f"/proc/{process}/statm").read_text().split()[1:3])
    except (OSError, IndexError, ValueError):
        return 0
    return max(0, (resident - files) * _PAGE)


def _held_bytes(process: int) -> int:
    """Return a process's share of memory: a page that n processes share counts as an nth of one."""
    try:
        with open(f"/proc/{process}/smaps_rollup", encoding="ascii") as file:
            shares = {name: int(value.split()[0]) for name, _, value in (line.partition(":") for line in file) if value}
    except FileNotFoundError:
        return 0
    except (OSError, ValueError, IndexError):  # one that hides itself counts in full
        return _apparent_bytes(process)
    return 1024 * shares.get("Pss_Anon", 0)


def _status_bytes(process: str, name: str) -> int:
    with open(f"/proc/{process}/status", encoding="ascii") as file:
        for line in file:
            if line.startswith(f"{name}:"):
                return 1024 * int(line.split()[1])
    return 0


def _folder_bytes(folder: str) -> int:
    """Return what the files of a folder take on the disk."""
    total = 0
    for place, _, files in os.walk(folder):
        for name in files:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(place, name)).st_blocks * 512
    return total


def limit_processes(bounds: Bounds) -> None:
    """Set the limit of processes and threads; within a user namespace it counts those of the namespace alone."""
    resource.setrlimit(resource.RLIMIT_NPROC, (bounds.processes, bounds.processes))

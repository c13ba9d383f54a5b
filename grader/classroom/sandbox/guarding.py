"""Turn a process that a fork server has forked into a confined kernel and its warden."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Mapping
from typing import Any

from . import landlock, namespaces, system_calls, warden
from .confinement import LANDLOCK, NAMESPACES, Confinement
from .control_group import KernelGroup
from .seccomp import filter_calls

Tell = Callable[[Mapping[str, Any]], None]
Ready = Callable[[], None]


def confine_next_process(confinement: Confinement) -> str:
    """Prepare the sandbox in the process whose next child will be the warden.

    Returns:
        The folder in which the kernel runs.

    Raises:
        OSError: if the machine forbids a step.
    """
    if confinement.level == NAMESPACES:
        namespaces.enter_namespaces(confinement)
        return namespaces.FOLDER
    landlock.prepare_scratch(confinement)
    return landlock.scratch_folder(confinement)


def start_warden(confinement: Confinement, tell: Tell, group: KernelGroup | None = None) -> Ready:
    """Fork: the parent becomes the warden and never returns; the child, confined, goes on as the kernel.

    Args:
        confinement: The sandbox.
        tell: Sends a message to the client that asked for the kernel.
        group: The control group that bounds the kernel's memory, where there is one.

    Returns:
        What the kernel calls when it listens.
    """
    if confinement.level == NAMESPACES:
        namespaces.settle_first_process()
    reader, writer = os.pipe()
    process = os.fork()
    if process:
        os.close(writer)
        os._exit(_watch_over(confinement, process, reader, tell, group))
    os.close(reader)
    if group is not None:
        group.enter()
    _confine_self(confinement)

    def ready() -> None:
        os.write(writer, b"r")
        os.close(writer)

    return ready


def _watch_over(confinement: Confinement, process: int, reader: int, tell: Tell, group: KernelGroup | None) -> int:
    """Be the warden until the kernel and all its processes have ended; return the exit code."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    system_calls.prctl(system_calls.PR_SET_DUMPABLE, 0)  # nothing within the sandbox may look into this process
    was_exceeded = group.was_exceeded if group is not None else lambda: False
    if confinement.level == NAMESPACES:

        def when_ready() -> None:
            namespaces.close_sockets(confinement)
            system_calls.drop_capabilities()
            tell({"ready": True})

        return warden.watch(
            process,
            reader,
            confinement.bounds,
            when_ready=when_ready,
            members=warden.all_others,
            was_exceeded=was_exceeded,
        )
    system_calls.prctl(system_calls.PR_SET_CHILD_SUBREAPER, 1)
    keeper = os.getppid()
    code = warden.watch(
        process,
        reader,
        confinement.bounds,
        when_ready=lambda: tell({"ready": True}),
        members=lambda: [member for member in warden.others_of_session() if member != keeper],
        scratch=landlock.scratch_folder(confinement),
        was_exceeded=was_exceeded,
    )
    tell({"ended": code})
    os.killpg(0, signal.SIGKILL)  # in one stroke, which no fork escapes: all are of one group, this process too
    return code


def _confine_self(confinement: Confinement) -> None:
    os.umask(0o022)
    warden.set_limits(confinement.bounds)
    if confinement.level == NAMESPACES:
        warden.limit_processes(confinement.bounds)
        system_calls.drop_capabilities()
        with contextlib.suppress(OSError):  # a second wall: the namespaces hold without it
            filter_calls(has_namespaces=True)
    elif confinement.level == LANDLOCK:
        if os.getuid() == 0:
            system_calls.drop_capabilities()
        landlock.restrict_self(confinement)

"""A kernel provisioner that forks each kernel from a process which has imported the course's libraries.

`JUPYTER_DEFAULT_PROVISIONER_NAME=lean-training-fork` makes nbgrader, formgrader and nbclient use it. A kernel that is
no IPython kernel of this very Python is started as always.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jupyter_client.connect import KernelConnectionInfo
from jupyter_client.provisioning.local_provisioner import LocalProvisioner

from grader.channel import STEPS_VARIABLE

from .forked import ForkedProcess
from .servers import PROVISIONER_VARIABLE, SERVER_VARIABLE, kernel_server

LAUNCHER = "ipykernel_launcher"


class ForkProvisioner(LocalProvisioner):  # type: ignore[misc]  # jupyter_client's class is not typed
    """Forks IPython kernels from a fork server, and starts any other kernel as a new process."""

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> KernelConnectionInfo:
        """Start a kernel, and return when it listens."""
        arguments = arguments_of_launcher(cmd)
        if arguments is None:
            return await super().launch_kernel(cmd, **kwargs)
        self.process = await asyncio.to_thread(_fork_kernel, arguments, kwargs)
        self.pid = self.pgid = self.process.pid  # a forked process leads a session of its own
        self.cwd = kwargs.get("cwd") or Path.cwd()
        return self.connection_info


def arguments_of_launcher(command: Sequence[str]) -> list[str] | None:
    """Return what a command hands to the launcher of this Python's IPython kernel; None for any other command."""
    if list(command[1:3]) != ["-m", LAUNCHER]:
        return None
    is_this_python = os.path.realpath(command[0]) == os.path.realpath(sys.executable)
    return list(command[3:]) if is_this_python else None


def _fork_kernel(arguments: list[str], launch: dict[str, Any]) -> ForkedProcess:
    environment = {**(launch.get("env") or os.environ)}
    server = environment.get(SERVER_VARIABLE) or kernel_server().path
    for name in (SERVER_VARIABLE, PROVISIONER_VARIABLE, "JPY_PARENT_PID"):  # none of them is a learner's business
        environment.pop(name, None)
    handed_over = tuple(launch.get("pass_fds", ()))
    if environment.get(STEPS_VARIABLE) in [str(descriptor) for descriptor in handed_over]:
        environment[STEPS_VARIABLE] = str(3 + handed_over.index(int(environment[STEPS_VARIABLE])))
    with open(os.devnull, "rb") as nothing:
        process = ForkedProcess(
            server,
            "grader.classroom.forked_kernel:run_kernel",
            [arguments],
            environment=environment,
            folder=str(launch.get("cwd") or Path.cwd()),
            descriptors=(
                nothing.fileno(),
                _descriptor(launch, "stdout", 1),
                _descriptor(launch, "stderr", 2),
                *handed_over,
            ),
        )
    process.wait_until_ready()
    return process


def _descriptor(launch: dict[str, Any], name: str, otherwise: int) -> int:
    stream = launch.get(name)
    if stream is None:
        return otherwise
    return stream if isinstance(stream, int) else int(stream.fileno())

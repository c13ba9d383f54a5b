"""Provision kernels by forking them from a process that has imported the course's libraries.

`JUPYTER_DEFAULT_PROVISIONER_NAME=lean-training-fork` makes nbgrader, formgrader and nbclient use it. Any other
kernel than an IPython kernel of this Python starts as a new process.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jupyter_client.connect import KernelConnectionInfo
from jupyter_client.provisioning.local_provisioner import LocalProvisioner

from grader.channel import STEPS_VARIABLE
from grader.classroom.sandbox.bubblewrap import command_in_bubblewrap
from grader.classroom.sandbox.confinement import BUBBLEWRAP, Confinement
from grader.classroom.sandbox.variables import kernel_variables
from grader.classroom.sandbox.warden import reason_of

from .fork_client import CONFINEMENT_VARIABLE, SERVER_VARIABLE, ForkedProcess, kernel_server

LAUNCHER = "ipykernel_launcher"
RUN_KERNEL = "grader.classroom.running.forked_kernel:run_kernel"
KILL_SECONDS = 2


class ForkProvisioner(LocalProvisioner):  # type: ignore[misc]  # jupyter_client's class is not typed
    """Forks IPython kernels from a fork server, and starts any other kernel as a new process.

    Where the environment describes a sandbox, every kernel runs in it, and a kernel that cannot is refused.
    """

    confinement: Confinement | None = None

    @property
    def listens(self) -> bool:
        """Return whether a kernel that was started listens already."""
        return isinstance(self.process, ForkedProcess)

    @property
    def end_reason(self) -> str:
        """Return why the sandbox ended the kernel, "" if it did not."""
        code = self.process.poll() if self.process is not None else None
        return reason_of(code, self.confinement.bounds) if self.confinement is not None else ""

    async def pre_launch(self, **kwargs: Any) -> dict[str, Any]:
        """Prepare the launch; a confined kernel is spoken to through files, since its network is its own."""
        environment = kwargs.get("env") or os.environ
        if environment.get(CONFINEMENT_VARIABLE):
            self.confinement = Confinement.from_dict(json.loads(environment[CONFINEMENT_VARIABLE]))
            self.parent.transport = "ipc"
            self.parent.connection_file = f"{self.confinement.sockets}/kernel.json"
            self.parent.ip = f"{self.confinement.sockets}/s"
        prepared: dict[str, Any] = await super().pre_launch(**kwargs)
        return prepared

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> KernelConnectionInfo:
        """Start a kernel, and return when it listens.

        Raises:
            RuntimeError: if it cannot run in the sandbox.
        """
        arguments = arguments_of_launcher(cmd)
        if arguments is None and self.confinement is not None:
            raise RuntimeError(f"no sandbox for a kernel that is no IPython kernel of this Python: {cmd[0]}")
        if arguments is None:
            return await super().launch_kernel(cmd, **kwargs)
        if self.confinement is not None and self.confinement.level == BUBBLEWRAP:
            return await self._launch_in_bubblewrap(self.confinement, arguments, kwargs)
        self.process = await asyncio.to_thread(_fork_kernel, arguments, kwargs, self.confinement)
        self.pid = self.pgid = self.process.pid  # a forked process leads a session of its own
        self.cwd = kwargs.get("cwd") or Path.cwd()
        return self.connection_info

    async def kill(self, restart: bool = False) -> None:
        """Kill the kernel, and return when it is gone; jupyter_client would ask only every tenth of a second."""
        await super().kill(restart=restart)
        if isinstance(self.process, ForkedProcess):
            with contextlib.suppress(subprocess.TimeoutExpired):
                await asyncio.to_thread(self.process.wait, KILL_SECONDS)

    async def _launch_in_bubblewrap(
        self, confinement: Confinement, arguments: list[str], launch: dict[str, Any]
    ) -> KernelConnectionInfo:
        environment = kernel_variables(launch.get("env") or os.environ, confinement)
        self.parent.kernel_spec.interrupt_mode = "message"  # a signal would end the program around the kernel
        command = command_in_bubblewrap(confinement, RUN_KERNEL, arguments)
        quiet = {"env": environment, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return await super().launch_kernel(command, **{**launch, **quiet})


def arguments_of_launcher(command: Sequence[str]) -> list[str] | None:
    """Return what a command hands to the launcher of this Python's IPython kernel; None for any other command."""
    if list(command[1:3]) != ["-m", LAUNCHER]:
        return None
    is_this_python = os.path.realpath(command[0]) == os.path.realpath(sys.executable)
    return list(command[3:]) if is_this_python else None


def _fork_kernel(arguments: list[str], launch: dict[str, Any], confinement: Confinement | None) -> ForkedProcess:
    environment = {**(launch.get("env") or os.environ)}
    server = environment.get(SERVER_VARIABLE) or kernel_server().path
    handed_over = tuple(launch.get("pass_fds", ()))
    if environment.get(STEPS_VARIABLE) in [str(descriptor) for descriptor in handed_over]:
        environment[STEPS_VARIABLE] = str(3 + handed_over.index(int(environment[STEPS_VARIABLE])))
    with open(os.devnull, "r+b") as nothing:
        silent = nothing.fileno()
        streams = (_descriptor(launch, "stdout", 1), _descriptor(launch, "stderr", 2))
        process = ForkedProcess(
            server,
            RUN_KERNEL,
            [arguments],
            environment=kernel_variables(environment, confinement),
            folder=str(launch.get("cwd") or Path.cwd()),
            # A file would grow on the disk.
            descriptors=(silent, *((silent, silent) if confinement else streams), *handed_over),
            confinement=confinement,
        )
    if not process.wait_until_ready():
        raise RuntimeError(
            process.failure or f"the kernel ended before it listened, with exit code {process.returncode}"
        )
    return process


def _descriptor(launch: dict[str, Any], name: str, otherwise: int) -> int:
    stream = launch.get(name)
    if stream is None:
        return otherwise
    return stream if isinstance(stream, int) else int(stream.fileno())

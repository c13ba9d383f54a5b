"""Start fork servers, and start processes from them."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from grader.classroom.base.storage import scratch_folder
from grader.classroom.sandbox.confinement import Confinement
from grader.classroom.sandbox.control_group import command_of_a_scope
from grader.classroom.sandbox.variables import plain_variables, with_import_path
from grader.gpu_files import has_gpu

START_SECONDS = 120  # a cold import of everything from a slow disk
ANSWER_SECONDS = 60
# Every larger allocation is a mapping of its own, and goes back when it is freed: so the system's count follows.
MAPPED_ALLOCATIONS = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
KILLED = -signal.SIGKILL
PROVISIONER = "lean-training-fork"
PROVISIONER_VARIABLE = "JUPYTER_DEFAULT_PROVISIONER_NAME"
SERVER_VARIABLE = "LEAN_TRAINING_FORK_SERVER"
CONFINEMENT_VARIABLE = "LEAN_TRAINING_CONFINEMENT"
# What a learner's notebook imports, and nothing that judges.
KERNEL_MODULES = (
    "ipykernel.kernelapp",
    "ipykernel.ipkernel",
    "ipykernel.debugger",  # every kernel imports it, half of what its start costs
    "torch",
    "torch.optim",
    "torch.utils.data",
    "torch._subclasses.fake_tensor",
    "matplotlib.figure",
    "accelerate",
    "datasets",
    "transformers",
    "transformers.trainer",
    "transformers.models.bert.modeling_bert",
    "transformers.models.distilbert.modeling_distilbert",
    "grader.meters.measurement",
)
BARE_MODULES = ("ipykernel.kernelapp", "ipykernel.ipkernel")
WORKER_MODULES = (
    "grader.classroom.running.worker",
    "jupyter_client.provisioning",
    "grader.classroom.running.provisioner",
    "grader.classroom.running.warm_worker",
)


class ForkServerError(Exception):
    """The fork server could not be started, or does not answer."""


class ForkServer:
    """A running fork server; it ends when it is closed, or when this process ends."""

    def __init__(self, modules: Sequence[str]):
        """Start a server that has imported the modules.

        Raises:
            ForkServerError: if it ends or does not get ready.
        """
        self._folder = tempfile.mkdtemp(prefix="fork-", dir=scratch_folder())  # only this user may enter
        self.path = str(Path(self._folder) / "socket")
        program = [sys.executable, "-P", "-m", "grader.classroom.running.fork_server", self.path, *modules]
        command = [*command_of_a_scope(), *program]  # in a scope, each kernel gets a control group
        self._complaints = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
            # The memory of every forked process holds this environment.
            env=with_import_path(plain_variables(os.environ) | MAPPED_ALLOCATIONS),
            start_new_session=True,
        )
        self._await_ready()

    def _await_ready(self) -> None:
        assert self._process.stdout is not None
        timer = threading.Timer(START_SECONDS, self._process.kill)
        timer.start()
        is_ready = self._process.stdout.readline().strip() == b"ready"
        timer.cancel()
        if not is_ready:
            self._complaints.seek(0)
            reason = self._complaints.read().decode("utf-8", "replace").strip().rpartition("\n")[2]
            self.close()
            raise ForkServerError(reason or "the fork server ended before it was ready")

    @property
    def is_alive(self) -> bool:
        """Return whether the server still runs."""
        return self._process.poll() is None

    def close(self) -> None:
        """End the server and every process that it has forked."""
        with contextlib.suppress(OSError):
            self._process.communicate(timeout=5)
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        self._process.wait()
        self._complaints.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> ForkServer:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class ForkedProcess:
    """A process that a fork server has forked, with the part of subprocess.Popen that its users need."""

    stdin = stdout = stderr = None

    def __init__(
        self,
        server: str,
        call: str,
        arguments: Sequence[object],
        *,
        environment: Mapping[str, str],
        folder: str,
        descriptors: Sequence[int],
        confinement: Confinement | None = None,
    ):
        """Fork a process.

        Args:
            server: The server's socket.
            call: "module:function" that the process calls with the arguments and `ready`.
            arguments: What JSON can carry.
            environment: The process's whole environment.
            folder: Where it runs.
            descriptors: Its stdin, stdout and stderr, and any more, which become 3, 4 and so on.
            confinement: The sandbox in which it runs; None for none.

        Raises:
            ForkServerError: if the server does not answer.
        """
        self.returncode: int | None = None
        self.is_ready = False
        self.failure = ""
        self._ended: object = None  # how a confined process ended, as its warden says
        self._text = b""
        self._connection = socket.socket(socket.AF_UNIX)
        request = {"call": call, "arguments": list(arguments), "environment": dict(environment), "folder": folder}
        request |= {"confinement": confinement.to_dict()} if confinement else {}
        try:
            self._connection.settimeout(ANSWER_SECONDS)
            self._connection.connect(server)
            socket.send_fds(self._connection, [json.dumps(request).encode() + b"\n"], list(descriptors))
            self.pid = self._learn_pid()
        except OSError as error:
            self._connection.close()
            raise ForkServerError(f"the fork server at {server} does not answer: {error}") from error

    def _learn_pid(self) -> int:
        while True:  # the process may be ready before the server has sent its number
            message = self._next_message()
            self._take(message)
            if "pid" in message:
                return int(str(message["pid"]))
            if self.returncode is not None:
                raise OSError("it hung up")

    def _next_message(self) -> dict[str, object]:
        """Return the next message; {} if the server is gone."""
        while b"\n" not in self._text:
            received = self._connection.recv(4096)
            if not received:
                return {}
            self._text += received
        line, _, self._text = self._text.partition(b"\n")
        message: dict[str, object] = json.loads(line)
        return message

    def _take(self, message: Mapping[str, object]) -> None:
        self.is_ready = self.is_ready or bool(message.get("ready"))
        self.failure = self.failure or str(message.get("failed", ""))
        self._ended = message.get("ended", self._ended)
        if "status" in message or not message:
            status = message.get("status", KILLED)
            self.returncode = int(str(status if self._ended is None else self._ended))
            self._connection.close()

    def wait_until_ready(self) -> bool:
        """Wait until the process says that it is ready; return False if it ended before.

        Raises:
            ForkServerError: if it does neither.
        """
        while not self.is_ready and self.returncode is None:
            self._connection.settimeout(ANSWER_SECONDS)
            try:
                self._take(self._next_message())
            except TimeoutError as error:
                raise ForkServerError(f"process {self.pid} is not ready after {ANSWER_SECONDS} s") from error
        return self.is_ready

    def poll(self) -> int | None:
        """Return how the process ended, or None while it runs."""
        while self.returncode is None:
            self._connection.settimeout(0)
            try:
                self._take(self._next_message())
            except BlockingIOError:
                break
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait until the process has ended, and return how.

        Raises:
            subprocess.TimeoutExpired: if it runs longer than `timeout` seconds.
        """
        end = None if timeout is None else time.monotonic() + timeout
        while self.returncode is None:
            self._connection.settimeout(None if end is None else max(end - time.monotonic(), 1e-3))
            try:
                self._take(self._next_message())
            except TimeoutError as error:
                raise subprocess.TimeoutExpired([str(self.pid)], timeout or 0) from error
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal to the process alone; nothing happens if it has ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):  # the server's word of its end is on its way
                os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill the process; what it started goes with it."""
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        """Ask the process to end."""
        self.send_signal(signal.SIGTERM)


_servers: dict[Sequence[str], ForkServer] = {}
_starting = threading.Lock()


def can_fork() -> bool:
    """Return whether kernels are forked here by default: on Linux without a GPU.

    A process that has spoken to CUDA must not be forked, and no run on a GPU has shown yet that the server has not.
    """
    return sys.platform == "linux" and not has_gpu()


def kernel_server() -> ForkServer:
    """Return the server that forks kernels; the first call starts it."""
    return _running(KERNEL_MODULES)


def bare_server() -> ForkServer:
    """Return the server of kernels that import the libraries themselves: it has met neither PyTorch nor CUDA."""
    return _running(BARE_MODULES)


def worker_server() -> ForkServer:
    """Return the server that forks workers; the first call starts it."""
    return _running(WORKER_MODULES)


def _running(modules: Sequence[str]) -> ForkServer:
    """Return the server for these modules. One that a submission has killed is replaced."""
    with _starting:
        server = _servers.get(modules)
        if server is None or not server.is_alive:
            server = _servers[modules] = ForkServer(modules)
            atexit.register(server.close)
        return server

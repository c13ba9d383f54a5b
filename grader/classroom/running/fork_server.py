"""Import what child processes need once, then fork one of them for every request.

`python -m grader.classroom.running.fork_server SOCKET MODULE...` imports the modules and listens at the socket. A
client sends one line of JSON and three or more descriptors; the child calls a function with them as stdin, stdout,
stderr and so on. The client reads lines of JSON: the child's number, when the child is ready, and how it ended. When
the client hangs up, the child and all that it started in its process group are killed.

A fork copies one thread only, so the server must never have a second one and must never compute: it imports, and waits.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import importlib
import json
import os
import pkgutil
import random
import selectors
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from grader.classroom.sandbox.confinement import Confinement
from grader.classroom.sandbox.control_group import DelegatedGroup, KernelGroup
from grader.classroom.sandbox.guarding import confine_next_process, start_warden

LARGEST_REQUEST = 2**20
FREE_DESCRIPTORS = 64  # above all that a caller hands over
MOST_DESCRIPTORS = 8  # stdin, stdout, stderr, and what else a caller hands over
# Set before any import, so that no library starts a thread: a parallel region that ran here would hang every child.
QUIET_LIBRARIES = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
    "PYTHONHASHSEED": "0",
}


@dataclass(frozen=True)
class Child:
    """One forked child: its process, and the connection of the client that asked for it."""

    pid: int
    connection: socket.socket


def serve(listener: socket.socket, groups: DelegatedGroup | None = None) -> None:
    """Fork a child for every request, until the client that started the server hangs up on stdin."""
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    selector.register(sys.stdin.fileno(), selectors.EVENT_READ)
    children: dict[int, Child] = {}  # by the descriptor of the process
    while True:
        for key, _ in selector.select():
            if key.fd == sys.stdin.fileno():
                return _end_all(children)
            if key.fileobj is listener:
                _answer(listener, selector, children, groups)
            elif key.fd in children:
                child = children.pop(key.fd)
                _report_end(child, key.fd, selector)
                if groups is not None:
                    groups.remove_group(child.pid)
            else:
                _hang_up(key.data)


def _answer(
    listener: socket.socket,
    selector: selectors.BaseSelector,
    children: dict[int, Child],
    groups: DelegatedGroup | None,
) -> None:
    """Fork a child for one request. A client that hangs up or sends nonsense affects no other client."""
    connection, _ = listener.accept()
    connection.settimeout(5)
    try:
        request, descriptors = _read_request(connection)
    except (OSError, ValueError):
        connection.close()
        return
    _require_one_thread()
    gc.freeze()  # what exists now stays shared with the child
    pid = os.fork()
    if pid == 0:
        _become(request, descriptors, connection, groups)
    for descriptor in descriptors:
        os.close(descriptor)
    child = Child(pid, connection)
    process = os.pidfd_open(pid)
    children[process] = child
    selector.register(process, selectors.EVENT_READ)
    selector.register(connection, selectors.EVENT_READ, data=child)
    _tell(connection, {"pid": pid})


def _read_request(connection: socket.socket) -> tuple[dict[str, Any], list[int]]:
    text, descriptors, _, _ = socket.recv_fds(connection, LARGEST_REQUEST, MOST_DESCRIPTORS)
    while not text.endswith(b"\n") and len(text) < LARGEST_REQUEST and (more := connection.recv(LARGEST_REQUEST)):
        text += more
    return json.loads(text), list(descriptors)


def _require_one_thread() -> None:
    threads = len(os.listdir("/proc/self/task"))
    if threads != 1:
        raise SystemExit(f"the fork server has {threads} threads: one of its modules starts threads when imported")


def _become(
    request: Mapping[str, Any], descriptors: list[int], connection: socket.socket, groups: DelegatedGroup | None
) -> NoReturn:
    """Turn the fork into the process that was asked for; never return to the server's loop.

    The process is one fork further down. Its parent is a keeper that only waits for it, so that a process which kills
    its parent ends itself and nobody else.
    """
    os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    confinement = Confinement.from_dict(request["confinement"]) if request.get("confinement") else None
    folder, group = request["folder"], None
    if confinement is not None:
        group = None if groups is None else groups.open_group(confinement.bounds)
        try:
            folder = confine_next_process(confinement)
        except OSError as error:
            _tell(connection, {"failed": str(error)})
            os._exit(1)
    process = os.fork()
    if process:
        connection.close()
        if group is not None:
            group.close()
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        os._exit(code if code >= 0 else 128 - code)
    _run_call({**request, "folder": folder}, confinement, descriptors, connection, group)


def _run_call(
    request: Mapping[str, Any],
    confinement: Confinement | None,
    descriptors: list[int],
    connection: socket.socket,
    group: KernelGroup | None,
) -> NoReturn:
    """Call the function of a request and end the process with the exit code that Python would give."""
    code = 1
    try:
        connection = _take_over(descriptors, connection, group)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.environ.clear()
        os.environ.update(request["environment"])
        os.chdir(request["folder"])
        random.seed()
        pkgutil.resolve_name(request["call"])(*request["arguments"], ready=_get_ready(confinement, connection, group))
        code = 0
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _take_over(descriptors: list[int], connection: socket.socket, group: KernelGroup | None) -> socket.socket:
    """Make the descriptors that were handed over 0, 1, 2 and so on; close all others but connection and group."""
    connection = socket.socket(fileno=fcntl.fcntl(connection.detach(), fcntl.F_DUPFD_CLOEXEC, FREE_DESCRIPTORS))
    moved = [fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, FREE_DESCRIPTORS) for descriptor in descriptors]
    for target, descriptor in enumerate(moved):
        os.dup2(descriptor, target)
    kept = {connection.fileno()} | ({group.members, group.events} if group is not None else set())
    _close_all_but(kept, len(descriptors))
    return connection


def _get_ready(
    confinement: Confinement | None, connection: socket.socket, group: KernelGroup | None
) -> Callable[[], None]:
    """Return what the call is to call when it is ready; in a sandbox, its warden says so to the client."""
    if confinement is not None:
        try:
            ready = start_warden(confinement, lambda message: _tell(connection, message), group)
        except OSError as error:
            _tell(connection, {"failed": str(error)})
            raise SystemExit(1) from error
        connection.close()  # what runs from now on cannot speak for this process
        return ready

    def tell_and_close() -> None:
        _tell(connection, {"ready": True})
        connection.close()

    return tell_and_close


def _close_all_but(kept: set[int], handed_over: int) -> None:
    """Close what the fork shares with the server and with other children, whose connections are not its own."""
    for descriptor in map(int, os.listdir("/proc/self/fd")):
        if descriptor >= handed_over and descriptor not in kept:
            with contextlib.suppress(OSError):  # the descriptor of the listing itself is closed already
                os.close(descriptor)


def _tell(connection: socket.socket, message: Mapping[str, Any]) -> None:
    with contextlib.suppress(OSError):  # the client is gone; its end of the connection says so to the server
        connection.sendall(json.dumps(message).encode() + b"\n")


def _report_end(child: Child, process: int, selector: selectors.BaseSelector) -> None:
    """Kill what the child left in its process group, reap it, and report its end to the client."""
    _kill_group(child)  # before its number is free for another process
    _, status = os.waitpid(child.pid, 0)
    selector.unregister(process)
    os.close(process)
    _tell(child.connection, {"status": os.waitstatus_to_exitcode(status)})
    selector.unregister(child.connection)
    child.connection.close()


def _hang_up(child: Child) -> None:
    """Kill the child of a client that is gone; a client says nothing after its request."""
    with contextlib.suppress(OSError):
        if child.connection.recv(1):
            return
    _kill_group(child)


def _kill_group(child: Child) -> None:
    for kill in (os.killpg, os.kill):  # a child that has just been forked has no group of its own yet
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(child.pid, signal.SIGKILL)


def _end_all(children: Mapping[int, Child]) -> None:
    for child in children.values():
        _kill_group(child)


def main(path: str, *modules: str) -> None:
    """Import the modules, listen at `path`, say so on stdout, and serve."""
    os.environ.update(QUIET_LIBRARIES)
    for module in modules:
        with contextlib.suppress(ImportError):  # a child that needs it will say that it is missing
            importlib.import_module(module)
    _require_one_thread()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        Path(path).chmod(0o600)
        listener.listen(64)
        print("ready", flush=True)
        serve(listener, DelegatedGroup.take())


if __name__ == "__main__":
    main(*sys.argv[1:])

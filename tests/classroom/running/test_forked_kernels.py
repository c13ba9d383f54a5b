"""Kernels that are forked from a process which has imported the libraries behave as any other kernel."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from jupyter_client.manager import KernelManager
from jupyter_client.provisioning import KernelProvisionerFactory

from grader.classroom.running import fork_client as servers
from grader.classroom.running.fork_client import (
    PROVISIONER,
    SERVER_VARIABLE,
    ForkedProcess,
    ForkServer,
    ForkServerError,
)
from grader.classroom.running.provisioner import ForkProvisioner, arguments_of_launcher

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forked kernels need Linux")
SMALL_MODULES = ("ipykernel.kernelapp", "ipykernel.ipkernel", "fractions")


@pytest.fixture(scope="module")
def server() -> Iterator[ForkServer]:
    with ForkServer(SMALL_MODULES) as server:
        yield server


@pytest.fixture
def kernel(server: ForkServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[KernelManager]:
    monkeypatch.setenv(SERVER_VARIABLE, server.path)
    monkeypatch.setattr(KernelProvisionerFactory.instance(), "default_provisioner_name", PROVISIONER)
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel(cwd=str(tmp_path))
    yield manager
    manager.shutdown_kernel(now=True)


def run(manager: KernelManager, code: str) -> tuple[str, str]:
    """Return how a cell ended, and what it printed."""
    client = manager.blocking_client()
    client.start_channels()
    client.wait_for_ready(timeout=30)
    printed: list[str] = []
    reply = client.execute_interactive(
        code, timeout=30, output_hook=lambda message: printed.append(message["content"].get("text", ""))
    )
    client.stop_channels()
    return reply["content"].get("ename", reply["content"]["status"]), "".join(printed)


def is_alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def wait_for_end(pid: int) -> bool:
    end = time.monotonic() + 10
    while is_alive(pid) and time.monotonic() < end:
        time.sleep(0.05)
    return not is_alive(pid)


def test_a_kernel_finds_modules_imported_and_no_judge_among_them(kernel: KernelManager) -> None:
    assert isinstance(kernel.provisioner, ForkProvisioner)
    code = "import sys; print('fractions' in sys.modules, any('judges' in name for name in sys.modules))"
    assert run(kernel, code) == ("ok", "True False\n")


def test_a_kernel_has_the_environment_and_folder_that_it_is_given(kernel: KernelManager, tmp_path: Path) -> None:
    code = f"import os; print(os.getcwd(), '{SERVER_VARIABLE}' in os.environ, 'JPY_PARENT_PID' in os.environ)"
    assert run(kernel, code) == ("ok", f"{tmp_path} False False\n")


def test_a_kernel_shares_no_connection_with_the_server(kernel: KernelManager, server: ForkServer) -> None:
    code = (
        f"import os\nlines = [line.split() for line in open('/proc/net/unix') if '{server.path}' in line]\n"
        "theirs, folder = {f'socket:[{line[6]}]' for line in lines}, '/proc/self/fd'\n"
        "own = [os.readlink(f'{folder}/{fd}') for fd in os.listdir(folder) if os.path.exists(f'{folder}/{fd}')]\n"
        "print(len(theirs) > 1, any(link in theirs for link in own))"
    )
    assert run(kernel, code) == ("ok", "True False\n")


def test_a_cell_can_be_interrupted_and_the_kernel_lives_on(kernel: KernelManager) -> None:
    client = kernel.blocking_client()
    client.start_channels()
    client.wait_for_ready(timeout=30)
    request = client.execute("import time\nprint('begun', flush=True)\ntime.sleep(60)")
    while client.get_iopub_msg(timeout=10)["content"].get("text") != "begun\n":
        pass
    kernel.interrupt_kernel()
    reply = client.get_shell_msg(timeout=10)
    while reply["parent_header"]["msg_id"] != request:
        reply = client.get_shell_msg(timeout=10)
    client.stop_channels()
    assert reply["content"]["ename"] == "KeyboardInterrupt"
    assert run(kernel, "print(1)") == ("ok", "1\n")


def test_a_restart_gives_a_new_kernel(kernel: KernelManager) -> None:
    run(kernel, "answer = 1")
    first = kernel.provisioner.pid
    kernel.restart_kernel(now=True)
    assert run(kernel, "answer")[0] == "NameError"
    assert kernel.provisioner.pid != first
    assert wait_for_end(first)


def test_a_shut_down_kernel_leaves_no_process(kernel: KernelManager) -> None:
    _, printed = run(kernel, "import os, subprocess; print(os.getpid(), subprocess.Popen(['sleep', '60']).pid)")
    kernel.shutdown_kernel(now=True)
    assert all(wait_for_end(int(pid)) for pid in printed.split())


def test_a_notebook_that_kills_its_parent_ends_itself_alone(kernel: KernelManager, server: ForkServer) -> None:
    other = ForkedProcess(
        server.path,
        "grader.classroom.running.forked_kernel:run_kernel",
        [["-f", str(Path(kernel.connection_file).with_suffix(".other"))]],
        environment=dict(os.environ),
        folder="/",
        descriptors=(0, 1, 2),
    )
    client = kernel.blocking_client()
    client.start_channels()
    client.wait_for_ready(timeout=30)
    client.execute("import os, signal; os.kill(os.getppid(), signal.SIGKILL)")
    assert wait_for_end(kernel.provisioner.pid)
    client.stop_channels()
    assert not kernel.is_alive()
    assert other.wait_until_ready()
    other.kill()
    assert other.wait(timeout=10) != 0


def test_a_process_that_cannot_begin_is_reported(server: ForkServer) -> None:
    process = ForkedProcess(
        server.path, "no_such_module:run", [], environment=dict(os.environ), folder="/", descriptors=(0, 1, 2)
    )
    assert not process.wait_until_ready()
    assert process.wait(timeout=10) == 1


def test_a_client_that_hangs_up_takes_its_process_with_it(server: ForkServer, tmp_path: Path) -> None:
    process = ForkedProcess(
        server.path,
        "grader.classroom.running.forked_kernel:run_kernel",
        [["-f", str(tmp_path / "kernel.json")]],
        environment=dict(os.environ),
        folder=str(tmp_path),
        descriptors=(0, 1, 2),
    )
    assert process.wait_until_ready()
    process._connection.close()
    assert wait_for_end(process.pid)


def test_a_server_that_is_gone_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ForkServerError, match="does not answer"):
        ForkedProcess(str(tmp_path / "socket"), "os:getpid", [], environment={}, folder="/", descriptors=(0, 1, 2))


def test_a_server_that_was_killed_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "WORKER_MODULES", ("fractions",))
    first = servers.worker_server()
    assert servers.worker_server() is first
    first._process.kill()
    first._process.wait()
    second = servers.worker_server()
    assert second.is_alive and second is not first
    second.close()


def test_another_pythons_kernel_is_started_as_always() -> None:
    assert arguments_of_launcher([sys.executable, "-m", "ipykernel_launcher", "-f", "x"]) == ["-f", "x"]
    assert arguments_of_launcher(["/usr/bin/other", "-m", "ipykernel_launcher", "-f", "x"]) is None
    assert arguments_of_launcher([sys.executable, "-m", "another_kernel", "-f", "x"]) is None

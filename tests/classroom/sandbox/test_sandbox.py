"""A kernel in a sandbox sees nothing of the class, reaches nobody, and holds no more than it may, at every level."""

from __future__ import annotations

import contextlib
import errno
import os
import platform
import socket
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

from grader.classroom.base.errors import ClassroomError
from grader.classroom.jobs.job import Job, run_job
from grader.classroom.running import sandbox_choice as choice
from grader.classroom.running.execution import Execution, Limits
from grader.classroom.running.fork_client import kernel_server
from grader.classroom.sandbox.confinement import BUBBLEWRAP, LADDER, LANDLOCK, NAMESPACES, NONE
from grader.classroom.sandbox.variables import plain_variables
from grader.units import GIB, MIB

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandboxes need Linux")
SET_BY_THE_KERNEL = {
    "USER",
    "LOGNAME",
    "TMPDIR",
    "TERM",
    "PAGER",
    "GIT_PAGER",
    "CLICOLOR",
    "FORCE_COLOR",
    "PWD",
    "OLDPWD",
}
SHORT = Limits(20, 60)
REPOSITORY = Path(__file__).resolve().parents[3]


@pytest.fixture(params=LADDER)
def level(request: pytest.FixtureRequest) -> str:
    reason = choice.why_not(request.param, kernel_server().path)
    if reason:
        pytest.skip(f"{request.param}: {reason}")
    return str(request.param)


def run(level: str, *sources: str, limits: Limits = SHORT, **more: object) -> Execution:
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    notebook = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": {"name": "python3", "display_name": "3"}})
    return run_job(
        Job(nbformat.writes(notebook), "small", 1_234_567_890, limits, is_forked=True, sandbox=level, **more)
    )  # type: ignore[arg-type]


def printed(execution: Execution, index: int = 0) -> str:
    cell = execution.cells[index]
    assert cell.state == "ok", cell
    return "".join(str(output.get("text", "")) for output in cell.outputs).strip()


def states(execution: Execution) -> list[str]:
    return [cell.state for cell in execution.cells.values()]


TRY = """
import os, socket
def tried(action):
    try:
        action()
    except OSError as error:
        return type(error).__name__
    return "done"
"""


def test_a_kernel_sees_python_and_its_own_files_alone(level: str, tmp_path: Path) -> None:
    unseen = tmp_path / "gradebook.db"
    unseen.write_text("marks")
    places = [str(unseen), str(REPOSITORY / "solutions" / "00_three_forms.py"), str(choice.JUDGES / "budget.py")]
    execution = run(
        level,
        TRY,
        f"print([tried(lambda: open(path).read()) for path in {[*places, '/etc/shadow']}])",
        "print(open('data.txt').read(), sorted(name for name in os.listdir('.') if name[0] != '.'))",
        "import torch, grader; print(float(torch.ones(3).sum()), grader.format_bytes(2**20))",
        "open('mine.txt', 'w').write('mine'); print(open('mine.txt').read())",
        support={"data.txt": b"given"},
    )
    assert "done" not in printed(execution, 1)
    assert printed(execution, 2) == "given ['data.txt']"
    assert printed(execution, 3) == "3.0 1.0 MiB"
    assert printed(execution, 4) == "mine"
    assert execution.sandbox == level


def test_what_a_kernel_sees_cannot_be_changed(level: str) -> None:
    places = [os.__file__, str(REPOSITORY / "grader" / "__init__.py"), str(Path(sys.prefix, "pyvenv.cfg"))]
    execution = run(level, TRY, f"print([tried(lambda: open(path, 'a')) for path in {places}])")
    assert "done" not in printed(execution, 1)


def test_a_kernel_reaches_no_network_and_no_program_of_the_machine(level: str) -> None:
    name = f"\0lean-training-{uuid.uuid4()}"
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as abstract:
        abstract.bind(name)
        abstract.listen()
        execution = run(
            level,
            TRY,
            f"print(tried(lambda: socket.create_connection(('127.0.0.1', {server.getsockname()[1]}), 2)))",
            "print(tried(lambda: socket.create_connection(('192.0.2.1', 80), 2)))",
            "print(tried(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 53))))",
            f"print(tried(lambda: socket.socket(socket.AF_UNIX).connect({name!r})))",
        )
    assert all(
        printed(execution, index) in ("OSError", "ConnectionRefusedError", "PermissionError") for index in (1, 2, 3, 4)
    )


def test_a_kernel_kills_nobody_else(level: str) -> None:
    victims = [os.getpid(), kernel_server()._process.pid]
    execution = run(
        level, TRY, f"print([tried(lambda: os.kill(pid, 9)) for pid in {victims}])", "os.kill(os.getppid(), 9)", "x = 1"
    )
    assert "done" not in printed(execution, 1)
    assert states(execution)[-1] == "ok"
    assert kernel_server().is_alive


def test_keys_that_the_system_holds_for_the_grader_are_closed(level: str) -> None:
    if level == BUBBLEWRAP or platform.machine() != "x86_64":
        pytest.skip("no filter of system calls at this level or on this processor")
    libc = "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)"
    execution = run(level, libc, "print(libc.syscall(250, 0, -3, 0), ctypes.get_errno())")
    assert printed(execution, 1) == f"-1 {errno.EPERM}"


def test_no_secret_of_the_machine_is_in_the_environment(level: str) -> None:
    execution = run(
        level,
        "print(open('/proc/self/environ').read().replace(chr(0), '\\n'))",
        "import os; print('\\n'.join(os.environ))",
    )
    host = {name for name in os.environ if name not in plain_variables(os.environ)} - SET_BY_THE_KERNEL
    for index in (0, 1):
        assert not host & {line.partition("=")[0] for line in printed(execution, index).splitlines()}
    assert "API_TOKEN" not in plain_variables(
        {"HF_TOKEN": "x", "AWS_SECRET_ACCESS_KEY": "x", "LEAN_TRAINING_API_TOKEN": "x"}
    )


def test_a_kernel_computes_with_the_instructions_of_its_judge(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = {"ATEN_CPU_CAPABILITY": "default", "ONEDNN_MAX_CPU_ISA": "SSE41", "DNNL_MAX_CPU_ISA": "SSE41"}
    for name, value in chosen.items():
        monkeypatch.setenv(name, value)
    execution = run(level, "import os; print({name: os.environ.get(name) for name in " + repr(list(chosen)) + "})")
    assert printed(execution, 0).strip() == str(chosen)


def test_too_much_memory_is_an_error_of_the_cell(level: str) -> None:
    execution = run(level, "x = bytearray(3 << 30)", "print('alive')", limits=Limits(20, 60, memory_bytes=GIB))
    assert states(execution) == ["error", "ok"]
    assert execution.cells[0].outputs[0]["ename"] == "MemoryError"


def test_the_most_memory_that_a_kernel_held_is_recorded(level: str) -> None:
    small, large = (run(level, f"x = bytearray({mebibytes} << 20)\ndel x").peak_bytes for mebibytes in (1, 400))
    assert small is not None and large is not None
    assert 380 * MIB < large - small < 420 * MIB


FORKS = """
import os, time
for _ in range(4):
    if os.fork() == 0:
        x = bytearray(os.urandom(1 << 20)) * 400
        time.sleep(60)
"""
SHARED = """
import mmap, os, time
held = [mmap.mmap(-1, 400 << 20) for _ in range(4)]
for memory in held:
    memory[:] = bytes(1 << 20) * 400
"""
UNSEEN = SHARED + "    memory.madvise(mmap.MADV_DONTNEED)\n"


@pytest.mark.parametrize("hold", [FORKS, SHARED, UNSEEN], ids=["forks", "shared", "shared and not looked at"])
def test_memory_of_all_processes_counts_together(level: str, hold: str) -> None:
    execution = run(level, hold + "time.sleep(60)", "print('alive')", limits=Limits(40, 60, memory_bytes=GIB))
    assert states(execution) == ["died", "ok"]
    assert "its processes held more than 1,024.0 MiB of memory" in execution.reason


@pytest.mark.parametrize(
    "take",
    [
        "os.memfd_create('x')",
        "libc.shmget(0, 1 << 20, 0o1600) < 0 and [][0]",
        "libc.syscall(447, 0) < 0 and [][0]",
        "libc.msgget(0, 0o1600) < 0 and [][0]",
    ],
    ids=["memfd", "System V memory", "secret memory", "System V messages"],
)
def test_memory_that_no_process_has_mapped_is_refused(level: str, take: str) -> None:
    if level == BUBBLEWRAP:
        pytest.skip("bubblewrap: no filter of system calls")
    setup = "import ctypes, os\nlibc = ctypes.CDLL(None)"
    assert states(run(level, setup, take)) == ["ok", "error"]


def test_a_fork_bomb_ends_and_leaves_nothing(level: str) -> None:
    token = f"bomb{uuid.uuid4().hex}"
    bomb = f"import os, sys\nargv = {token!r}\nwhile True:\n    os.fork()"
    started = time.monotonic()
    execution = run(level, bomb, "print('alive')", limits=Limits(5, 40, processes=80))
    assert states(execution)[0] in ("died", "error", "timeout")
    assert time.monotonic() - started < 60
    assert_nothing_left(kernel_server()._process.pid)


def test_files_of_a_kernel_are_limited(level: str) -> None:
    fill = """
import time
for number in range(40):
    open(f"{number}.bin", "wb").write(bytes(4 << 20))
    time.sleep(0.05)
"""
    execution = run(level, fill, limits=Limits(20, 60, scratch_bytes=32 * MIB))
    assert states(execution)[0] in ("error", "died")


def test_the_folder_of_sockets_cannot_be_filled() -> None:
    if reason := choice.why_not(NAMESPACES, kernel_server().path):
        pytest.skip(reason)
    write = "import glob\nplace = glob.glob('/tmp/lean-training-*/run-*/sockets')[0]"
    execution = run(NAMESPACES, TRY + write, "print(tried(lambda: open(place + '/x', 'w')))")
    assert printed(execution, 1) == "OSError"  # read-only file system


def test_nothing_that_a_kernel_starts_outlives_it(level: str) -> None:
    seconds = f"9{time.monotonic_ns() % 10**8}"
    daemon = f"""
import subprocess
try:
    subprocess.Popen(["sleep", "{seconds}"], start_new_session=True)
except PermissionError:
    subprocess.Popen(["sleep", "{seconds}"])
"""
    execution = run(level, daemon, "print('done')")
    assert printed(execution, 1) == "done"
    assert not [line for line in command_lines() if seconds in line]
    assert_nothing_left(kernel_server()._process.pid)


def test_an_endless_cell_is_interrupted_and_the_rest_goes_on(level: str) -> None:
    execution = run(level, "kept = 3", "while True: pass", "print(kept)", limits=Limits(2, 40))
    assert states(execution) == ["ok", "timeout", "ok"]
    assert printed(execution, 2) == "3"


def test_four_ranks_meet_over_the_loopback_within_the_limit(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if level == LANDLOCK:
        pytest.skip("this level has no loopback; such exercises are not gradable at it")
    script = (
        "import torch, torch.distributed as dist\n"
        "dist.init_process_group('gloo')\n"
        "x = torch.tensor([float(dist.get_rank() + 1)]); dist.all_reduce(x)\n"
        "import os; os.write(1, f'sum {x.item()}\\n'.encode()); dist.destroy_process_group()\n"
    )
    start = """
import subprocess, sys
command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "4", "ranks.py"]
done = subprocess.run(command, capture_output=True, text=True)
print(done.stdout, done.stderr)
"""
    name = f"ranks_{level}.py"
    start = start.replace("ranks.py", name)
    execution = run(level, start, support={name: script.encode()}, limits=Limits(100, 120))
    assert printed(execution).count("sum 10.0") == 4, printed(execution)
    assert not [line for line in command_lines() if name in line]


def test_run_ranks_works_in_a_class_and_leaves_no_process(level: str) -> None:
    if level == LANDLOCK:
        pytest.skip("this level has no loopback; such exercises are not gradable at it")
    meet = """
from grader import run_ranks

def meet(rank, world_size, send, receive):
    import torch
    send(torch.tensor([rank]), (rank + 1) % world_size)
    return int(receive((rank - 1) % world_size))
"""
    stay = "def stay(rank):\n    import time\n    time.sleep(60)\n\nrun_ranks(stay, 2)"
    mark = uuid.uuid4().hex  # other tests run ranks, too: these are the ones that inherited it
    cells = f"import os\nos.environ['MARK'] = '{mark}'", meet, "print(run_ranks(meet, 4).returned)", stay
    execution = run(level, *cells, limits=Limits(12, 60))
    assert printed(execution, 2) == "[3, 0, 1, 2]"
    assert states(execution)[3] == "timeout"
    assert not list(processes_with(f"MARK={mark}"))
    assert_nothing_left(kernel_server()._process.pid)


def test_a_level_that_does_not_hold_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    visible = choice.visible_paths
    monkeypatch.setattr(choice, "visible_paths", lambda readable=(): (*visible(readable), "/tmp"))
    choice.why_not.cache_clear()
    try:
        for level in (NAMESPACES, BUBBLEWRAP, LANDLOCK):
            assert choice.why_not(level, kernel_server().path)
        with pytest.raises(ClassroomError, match="No sandbox can be built on this machine, so no submission was run"):
            choice.chosen_level("auto", lambda: kernel_server().path)
        assert choice.chosen_level("auto", lambda: kernel_server().path, is_unsafe=True) == NONE
    finally:
        choice.why_not.cache_clear()


def test_no_sandbox_is_used_only_when_it_is_called_unsafe() -> None:
    with pytest.raises(ClassroomError, match="add --unsafe"):
        run(NONE, "x = 1")
    assert run(NONE, "x = 1", is_unsafe=True).sandbox == NONE
    with pytest.raises(ClassroomError, match=r"There is no sandbox 'docker'\. There are: auto, namespaces"):
        run("docker", "x = 1")


def command_lines() -> Iterator[str]:
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            yield place.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")


def processes_with(variable: str) -> Iterator[str]:
    for place in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if variable.encode() in place.read_bytes().split(b"\0"):
                yield place.parent.name


def assert_nothing_left(server: int) -> None:
    """The server's children are gone, and with them all that they started."""
    for _ in range(100):
        if not Path(f"/proc/{server}/task/{server}/children").read_text().split():
            return
        time.sleep(0.1)
    raise AssertionError(Path(f"/proc/{server}/task/{server}/children").read_text())

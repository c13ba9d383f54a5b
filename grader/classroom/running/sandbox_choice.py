"""Choose the sandbox that this machine can build: probe each level from the inside before any submission runs in it."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from grader.classroom.base.errors import ClassroomError
from grader.classroom.base.storage import scratch_folder
from grader.classroom.sandbox.bubblewrap import command_in_bubblewrap
from grader.classroom.sandbox.confinement import (
    AUTO,
    BUBBLEWRAP,
    CHOICES,
    LADDER,
    NONE,
    WITH_LOOPBACK,
    Bounds,
    Confinement,
)
from grader.classroom.sandbox.variables import with_import_path
from grader.classroom.sandbox.visible import JUDGES, device_paths, hidden_paths, visible_paths

from .fork_client import ForkedProcess, ForkServerError

PROBE = "grader.classroom.sandbox.probe:look_around"
PROBE_SECONDS = 60
RUN_FOLDERS = ("files", "sockets", "root")


@contextmanager
def run_folder(prefix: str = "run-") -> Iterator[str]:
    """Make the folder of one run, with the folders that a sandbox uses, and remove it at the end."""
    with tempfile.TemporaryDirectory(dir=scratch_folder(), prefix=prefix, ignore_cleanup_errors=True) as folder:
        for name in RUN_FOLDERS:
            Path(folder, name).mkdir()
        yield folder


def make_confinement(
    level: str, run: str, bounds: Bounds | None = None, readable: Sequence[str] = (), hidden: Sequence[str] = ()
) -> Confinement:
    """Describe the sandbox of one run.

    Args:
        level: A level of the ladder.
        run: The folder that `run_folder` made.
        bounds: How much the kernel may hold.
        readable: Folders that it may read in addition to Python and the system.
        hidden: Folders that it must not see, wherever they are.
    """
    visible = visible_paths(readable)
    home = os.path.abspath(os.path.expanduser("~"))
    unseen = hidden_paths(visible, [Path(path) for path in hidden])
    return Confinement(level, visible, unseen, device_paths(), run, home, bounds or Bounds())


def chosen_level(asked: str, server: Callable[[], str], *, is_unsafe: bool = False) -> str:
    """Return the level at which kernels run.

    Args:
        asked: A level, or "auto" for the first of the ladder that works here.
        server: Returns the socket of the fork server that will fork the kernels.
        is_unsafe: Whether no sandbox at all will do.

    Raises:
        ClassroomError: if no level works; it says why, level by level.
    """
    if asked == NONE:
        if is_unsafe:
            return NONE
        raise ClassroomError("The sandbox is switched off. If you trust every submission, add --unsafe.")
    if asked not in CHOICES:
        raise ClassroomError(f"There is no sandbox {asked!r}. There are: {', '.join(CHOICES)}.")
    reasons = {}
    for level in LADDER if asked == AUTO else (asked,):
        reasons[level] = why_not(level, server()) if sys.platform == "linux" else "it needs Linux"
        if not reasons[level]:
            return level
    if is_unsafe and asked == AUTO:
        return NONE
    failures = "\n".join(f"  {level}: {reason}" for level, reason in reasons.items())
    raise ClassroomError(
        f"No sandbox can be built on this machine, so no submission was run.\n{failures}\n"
        "Grade on another machine, allow one of these, or, if you trust every submission, add --unsafe."
    )


@functools.cache
def why_not(level: str, server: str) -> str:
    """Return why a level does not hold here, "" if it does."""
    with run_folder("probe-") as run, tempfile.TemporaryDirectory(dir=scratch_folder()) as elsewhere:
        secret = Path(elsewhere, "secret")
        secret.write_text("a file of the machine")
        confinement = make_confinement(level, run)
        report = Path(confinement.sockets, "report")
        arguments = [str(report), str(JUDGES), str(secret), "yes" if level in WITH_LOOPBACK else "no"]
        try:
            code = _run_probe(confinement, server, arguments)
        except (OSError, ForkServerError, subprocess.SubprocessError) as error:
            return str(error)
        found = report.read_text() if report.is_file() else ""
        return found or ("" if code == 0 else "a program within it failed to start")


def _run_probe(confinement: Confinement, server: str, arguments: list[str]) -> int:
    environment = {"PATH": os.environ.get("PATH", os.defpath), "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    with open(os.devnull, "r+b") as nothing:
        descriptors = (nothing.fileno(),) * 3
        if confinement.level == BUBBLEWRAP:
            command = command_in_bubblewrap(confinement, PROBE, arguments)
            ended = subprocess.run(
                command,
                stdin=nothing,
                capture_output=True,
                text=True,
                timeout=PROBE_SECONDS,
                env=with_import_path(environment),
            )
            if ended.returncode and ended.stderr.strip():
                raise OSError(ended.stderr.strip().splitlines()[-1])
            return ended.returncode
        process = ForkedProcess(
            server,
            PROBE,
            [arguments],
            environment=environment,
            folder="/",
            descriptors=descriptors,
            confinement=confinement,
        )
    code = process.wait(PROBE_SECONDS)
    if process.failure:
        raise OSError(process.failure)
    return code

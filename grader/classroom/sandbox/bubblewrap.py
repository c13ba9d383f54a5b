"""Build the sandbox of bubblewrap, for machines that allow namespaces to that program only; kernels are not forked."""

from __future__ import annotations

import json
import os
import pkgutil
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from . import system_calls, warden
from .confinement import Confinement
from .namespaces import FILES, FOLDER, HOST, USER_ID
from .visible import nested

PROGRAM = "bwrap"
INSIDE = "/run/files"  # where the lesson's files are seen before they are copied


def command_in_bubblewrap(confinement: Confinement, call: str, arguments: Sequence[str]) -> list[str]:
    """Return the command that calls `module:function` with the arguments in a sandbox.

    Raises:
        FileNotFoundError: if bubblewrap is not installed.
    """
    program = shutil.which(PROGRAM)
    if program is None:
        raise FileNotFoundError(f"the program {PROGRAM} is not installed (Debian's package: bubblewrap)")
    words = [program, "--unshare-all", "--unshare-user", "--die-with-parent", "--new-session", "--as-pid-1"]
    words += ["--cap-drop", "ALL", "--uid", str(USER_ID), "--gid", str(USER_ID), "--hostname", HOST]
    words += ["--size", str(confinement.bounds.scratch_bytes), "--tmpfs", "/"]
    words += ["--proc", "/proc", "--dev", "/dev", "--dir", "/tmp", "--dir", confinement.home, "--dir", FOLDER]
    for path, is_hidden in nested(confinement.visible, confinement.hidden):
        if is_hidden:
            words += ["--size", "4096", "--tmpfs", path]
        else:
            words += ["--symlink", os.readlink(path), path] if os.path.islink(path) else ["--ro-bind", path, path]
    for path in confinement.hidden:
        words += ["--remount-ro", path]
    for path in confinement.devices:
        words += ["--dev-bind", path, path]
    for path, place in _write_settings(confinement):
        words += ["--ro-bind", place, path]
    words += ["--ro-bind", confinement.files, INSIDE, "--bind", confinement.sockets, confinement.sockets]
    python = [sys.executable, "-P", "-m", __name__]
    return [*words, "--chdir", FOLDER, "--", *python, json.dumps(confinement.to_dict()), call, *arguments]


def _write_settings(confinement: Confinement) -> list[tuple[str, str]]:
    """Write the files of /etc that differ inside, next to the run's other folders."""
    places = []
    for path, text in FILES.items():
        place = Path(confinement.root) / path.strip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        places.append((path, str(place)))
    return places


def main(document: str, call: str, *arguments: str) -> None:
    """Become the warden, as the first process inside, and run the call in a child."""
    confinement = Confinement.from_dict(json.loads(document))
    shutil.copytree(INSIDE, FOLDER, dirs_exist_ok=True)
    reader, writer = os.pipe()
    process = os.fork()
    if process:
        os.close(writer)
        system_calls.prctl(system_calls.PR_SET_DUMPABLE, 0)
        code = warden.watch(
            process,
            reader,
            confinement.bounds,
            when_ready=lambda: None,
            members=warden.all_others,
            scratch=confinement.sockets,  # on the machine's disk
        )
        os._exit(code)
    os.close(reader)
    os.umask(0o022)
    warden.set_limits(confinement.bounds)
    warden.limit_processes(confinement.bounds)
    system_calls.prctl(system_calls.PR_SET_NO_NEW_PRIVS, 1)
    ready: Callable[[], None] = lambda: os.close(writer)  # noqa: E731
    pkgutil.resolve_name(call)(list(arguments), ready=ready)


if __name__ == "__main__":
    main(*sys.argv[1:])

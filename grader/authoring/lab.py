"""Copy lessons to a learner's folder `work/`, and serve JupyterLab there."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from .errors import AuthoringError
from .release import COURSE, write_whole

WORK = Path("work")
SETTINGS = Path(__file__).with_name("lab_settings")  # nothing pops up over the first lesson
COPIED = ".copied.json"  # for each lesson, the hash of the course file that was copied last
START_SECONDS, STOP_SECONDS, POLL_SECONDS = 60, 15, 0.2


def copy_lessons(root: Path) -> list[str]:
    """Copy lessons that are not yet in `work/`; never overwrite a learner's file.

    A lesson that changed in `course/` since it was copied arrives next to the learner's as `NN_topic.new.ipynb`.

    Args:
        root: The repository.

    Returns:
        One line for each file that was copied.
    """
    work = root / WORK
    work.mkdir(exist_ok=True)
    record = work / COPIED
    copied: dict[str, str] = json.loads(record.read_text(encoding="utf-8")) if record.is_file() else {}
    lines = []
    for lesson in sorted((root / COURSE).glob("*.ipynb")):
        content = hashlib.sha256(lesson.read_bytes()).hexdigest()
        mine = work / lesson.name
        if not mine.exists():
            shutil.copyfile(lesson, mine)
            lines.append(f"{WORK / mine.name}: copied from {COURSE}/")
        elif copied.get(lesson.stem) != content and mine.read_bytes() != lesson.read_bytes():
            newer = _free_name(work, lesson.stem)
            shutil.copyfile(lesson, newer)
            lines.append(f"{WORK / newer.name}: a newer version of the lesson; {WORK / mine.name} is as you left it")
        copied[lesson.stem] = content
    write_whole(record, json.dumps(copied, indent=1, sort_keys=True) + "\n")
    return lines


def _free_name(work: Path, stem: str) -> Path:
    newer, number = work / f"{stem}.new.ipynb", 1
    while newer.exists():
        number += 1
        newer = work / f"{stem}.new-{number}.ipynb"
    return newer


def open_lab(root: Path, *, has_browser: bool = True, port: int | None = None) -> int:
    """Copy new lessons, then serve JupyterLab in `work/` until Ctrl-C.

    Args:
        root: The repository.
        has_browser: Whether to open a browser; never without a display.
        port: Port to listen on; Jupyter's choice if left out.

    Returns:
        The exit code.

    Raises:
        AuthoringError: if there is no lesson to open, or the server does not start.
    """
    for line in copy_lessons(root):
        print(line, flush=True)
    lessons = sorted((root / WORK).glob("[0-9]*.ipynb"))
    if not lessons:
        raise AuthoringError(f"{root / COURSE} holds no lesson. Run: python -m grader release")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    command = lab_command(root / WORK, lessons[0].name, has_browser=has_browser and has_display(), port=port)
    server = subprocess.Popen(command, start_new_session=True)  # Ctrl-C reaches this process alone, which stops it
    try:
        print(f"JupyterLab: {_wait_for_url(server, lessons[0].name)}\nCtrl-C stops it.", flush=True)
        return server.wait()
    except KeyboardInterrupt:
        print("\nJupyterLab is stopped; your files are in work/.", flush=True)
        return 0
    finally:
        _stop(server)


def has_display() -> bool:
    """Whether a browser can open a window here."""
    return sys.platform in ("darwin", "win32") or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))


def lab_command(work: Path, first: str, *, has_browser: bool, port: int | None) -> list[str]:
    """Return the command that serves JupyterLab in a folder, opened on one notebook."""
    command = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={work}", "--log-level=WARN"]
    command += [f"--LabApp.default_url=/lab/tree/{first}", f"--LabApp.app_settings_dir={SETTINGS}"]
    command += [] if has_browser else ["--no-browser"]
    command += [] if port is None else [f"--port={port}", "--ServerApp.port_retries=0"]  # this port or no other
    command += ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []  # as in a container
    return command


def _wait_for_url(server: subprocess.Popen[bytes], first: str) -> str:
    """Read the address and the token from the file that a Jupyter server writes once it listens."""
    from jupyter_core.paths import jupyter_runtime_dir

    facts_path = Path(jupyter_runtime_dir()) / f"jpserver-{server.pid}.json"
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        try:
            facts = json.loads(facts_path.read_text(encoding="utf-8"))
        except (OSError, json.JSONDecodeError):  # not there yet, or half written
            time.sleep(POLL_SECONDS)
            continue
        token = f"?token={facts['token']}" if facts["token"] else ""
        return f"{facts['url']}lab/tree/{first}{token}"
    raise AuthoringError("JupyterLab did not start; its message is above.")


def _stop(server: subprocess.Popen[bytes]) -> None:
    """Ask the server to stop, with its kernels; kill it if it does not stop."""
    server.terminate()
    try:
        server.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()

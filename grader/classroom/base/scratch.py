"""The folder of what a process needs while it runs, and what becomes of it when the process is killed."""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import functools
import os
import shutil
import tempfile
import time
from pathlib import Path

PREFIX = "lean-training-"
LOCK = "lean-training.lock"  # a folder without it is not ours
PART = ".part"  # how the temporary file ends that becomes a file of the classroom
STALE_SECONDS = 60


@functools.cache
def scratch_folder() -> Path:
    """Return the folder of this process; it goes when the process ends, or when the next one begins."""
    remove_stale_folders()
    # It gets its name when it is locked, so that no other process takes it for one that was left behind.
    unlocked = Path(tempfile.mkdtemp(prefix=f".{PREFIX}"))
    descriptor = os.open(unlocked / LOCK, os.O_CREAT | os.O_RDWR, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)  # until the process ends, however it ends
    folder = unlocked.with_name(unlocked.name.removeprefix("."))
    unlocked.rename(folder)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def remove_stale_folders() -> None:
    """Remove the folders of this user's processes that were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f".{PREFIX}*"):
        with contextlib.suppress(OSError):
            if folder.lstat().st_uid == os.geteuid() and _is_stale(folder):
                shutil.rmtree(folder, ignore_errors=True)
    for lock in Path(tempfile.gettempdir()).glob(f"{PREFIX}*/{LOCK}"):
        with contextlib.suppress(OSError):  # another user's, or gone meanwhile
            if lock.parent.is_symlink() or lock.stat().st_uid != os.geteuid():
                continue
            with lock.open("r+") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(lock.parent, ignore_errors=True)


def remove_stale_parts(classroom: Path) -> None:
    """Remove the halves of files that a killed grading left in a classroom."""
    for pattern in (f".*{PART}", f"source/*/.*{PART}", f".grading/**/.*{PART}"):
        for path in classroom.glob(pattern):
            with contextlib.suppress(FileNotFoundError):
                if _is_stale(path):
                    path.unlink()


def _is_stale(path: Path) -> bool:
    return time.time() - path.lstat().st_mtime > STALE_SECONDS

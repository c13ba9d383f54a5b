"""Saves of a small file, killed at bytes, looked at between calls, traced, and interrupted by an error."""

from __future__ import annotations

import contextlib
import io
import os
import random
import signal
import stat
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

NAME = "checkpoint.pt"
Write = Callable[[Any], None]


class DiskFullError(OSError):
    """Raised by a write that fails halfway."""


class NotSavableError(Exception):
    """Raised by a write that meets what cannot be saved; no error of the system."""


@dataclass(frozen=True)
class SaveCase:
    """One save: what the file held before, and what is written.

    Attributes:
        old: The content before; None where no file existed.
        new: The content to be written.
        chunk: Bytes of each call of the file's `write`.
        limits: The bytes at which the save is killed.
        error: What a write that fails raises.
    """

    old: bytes | None
    new: bytes
    chunk: int
    limits: tuple[int, ...]
    error: type[Exception] = DiskFullError

    def write(self, file: Any) -> None:
        """Write the new content in several calls."""
        written = 0
        while written < len(self.new):
            written += file.write(self.new[written : written + self.chunk])  # an unbuffered file may take less

    def write_half(self, file: Any) -> None:
        """Write half of the content, and fail.

        Raises:
            Exception: the `error` of the case, always.
        """
        file.write(self.new[: len(self.new) // 2])
        raise self.error("half of the content is written")


def save_cases(seed: int) -> tuple[SaveCase, ...]:
    """A content that fits into a file's buffer, one that does not, and a first save."""
    draw = random.Random(seed)
    small, large = draw.randrange(2_000, 4_000), draw.randrange(40_000, 60_000)
    return (
        SaveCase(draw.randbytes(small), draw.randbytes(small), 700, (0, 1, small // 2, small - 1)),
        SaveCase(
            draw.randbytes(large // 2),
            draw.randbytes(large),
            9_000,
            (1, draw.randrange(large), large - 1),
            NotSavableError,
        ),
        SaveCase(None, draw.randbytes(large), 5_000, (draw.randrange(1, large),)),
    )


@contextlib.contextmanager
def folder_of(case: SaveCase) -> Iterator[Path]:
    """Make a folder that holds the old content, and yield the checkpoint's path in it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / NAME
        if case.old is not None:
            path.write_bytes(case.old)
        yield path


def found_at(path: Path, case: SaveCase, inode: int | None) -> str:
    """Return what a reader finds: old, new, missing, cut (in the old file itself) or replaced by a cut one."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return "old" if case.old is None else "missing"
    try:
        status = os.fstat(descriptor)
        content = os.read(descriptor, status.st_size + 1)
    finally:
        os.close(descriptor)
    if content in (case.old, case.new):
        return "new" if content == case.new else "old"
    return "cut" if inode is None or status.st_ino == inode else "replaced_by_cut"


def inode_of(path: Path) -> int | None:
    """Return the number of the file that a path names, None if it names none."""
    return path.stat().st_ino if path.exists() else None


def look_between_calls(save_atomically: Callable[..., Any], case: SaveCase) -> list[list[Any]]:
    """Save once; before and after each call, read what a kill at this moment would leave.

    Returns:
        What was found and whether `write` had returned, once for each change.
    """
    seen: list[list[Any]] = []
    written = [0]

    def write(file: Any) -> None:
        case.write(file)
        written[0] += 1

    with folder_of(case) as path:
        inode = inode_of(path)

        def look(*event: Any) -> None:
            now = [found_at(path, case, inode), written[0]]
            if not seen or seen[-1] != now:
                seen.append(now)

        before = sys.getprofile()
        sys.setprofile(look)
        try:
            save_atomically(path, write)
        finally:
            sys.setprofile(before)
        look()
    return seen


def kill_at_byte(save_atomically: Callable[..., Any], case: SaveCase, limit: int) -> list[Any]:
    """Kill a save, in a process of its own, when a file would exceed `limit` bytes.

    Returns:
        The limit, whether the process was killed, what a reader finds, and what it finds after one more save.
    """
    import resource

    with folder_of(case) as path:
        inode = inode_of(path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a kernel has threads, which the child does not use
            process = os.fork()
        if not process:
            try:
                signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # Python ignores it; its default is the end at this byte
                resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
                save_atomically(path, case.write)
            finally:
                os._exit(0)
        _, status = os.waitpid(process, 0)
        found = found_at(path, case, inode)
        try:
            save_atomically(path, case.write)
            afterwards = found_at(path, case, None)
        except FileExistsError:
            afterwards = "refused"
        return [limit, os.WIFSIGNALED(status), found, afterwards]


def observe_kills(save_atomically: Callable[..., Any], case: SaveCase) -> dict[str, Any]:
    """Look between the calls of one save, and kill others within their calls."""
    seen = look_between_calls(save_atomically, case)
    kills = [kill_at_byte(save_atomically, case, limit) for limit in case.limits] if hasattr(os, "fork") else []
    return {"seen": seen, "kills": kills}


@dataclass
class Trace:
    """The calls of one save that decide what is on the disk, and when.

    Attributes:
        path: The checkpoint.
        case: What is written.
        events: In their order.
        synced: The files whose whole content is on the disk.
    """

    path: Path
    case: SaveCase
    events: list[str] = field(default_factory=list)
    synced: set[int] = field(default_factory=set)

    def sync(self, call: Callable[[Any], None], file: Any) -> None:
        """Record a call of fsync."""
        status = os.fstat(file if isinstance(file, int) else file.fileno())
        if stat.S_ISDIR(status.st_mode):
            self.events.append("folder_synced")
        elif status.st_size >= len(self.case.new):
            self.events.append("synced")
            self.synced.add(status.st_ino)
        else:
            self.events.append("synced_too_little")
        call(file)

    def move(self, call: Callable[..., None], source: Any, target: Any, **options: Any) -> None:
        """Record a call of replace or rename."""
        source_path, target_path = Path(os.fsdecode(source)), Path(os.fsdecode(target))
        if target_path.resolve() == self.path.resolve():
            if source_path.resolve().parent != self.path.resolve().parent:
                self.events.append("moved_from_elsewhere")
            self.events.append("moved" if source_path.stat().st_ino in self.synced else "moved_unsynced")
        call(source, target, **options)

    @contextlib.contextmanager
    def recording(self) -> Iterator[None]:
        """Record the calls of the block."""
        names: dict[str, Callable[..., None]] = {"fsync": self.sync, "replace": self.move, "rename": self.move}
        names |= {"fdatasync": self.sync} if hasattr(os, "fdatasync") else {}
        with contextlib.ExitStack() as patches:
            for name, record in names.items():
                patches.enter_context(mock.patch.object(os, name, _bound(record, getattr(os, name))))
            yield


def _bound(record: Callable[..., None], call: Callable[..., None]) -> Callable[..., None]:
    return lambda *given, **options: record(call, *given, **options)


def observe_order(save_atomically: Callable[..., Any], case: SaveCase) -> dict[str, Any]:
    """Save once and record the order of the calls, then save with a `write` that fails."""
    files: list[Any] = []

    def write(file: Any) -> None:
        files.append(file)
        case.write(file)

    with folder_of(case) as path:
        trace = Trace(path, case)
        with trace.recording():
            save_atomically(path, write)
        facts: dict[str, Any] = {
            "events": trace.events,
            "found": found_at(path, case, None),
            "left": sum(entry != path for entry in path.parent.iterdir()),
            "is_open": any(
                hasattr(file, "fileno") and not isinstance(file, io.BytesIO) and not file.closed for file in files
            ),
        }
    with folder_of(case) as path:
        inode, error = inode_of(path), "none"
        try:
            save_atomically(path, case.write_half)
        except case.error:
            error = "same"
        except Exception as raised:  # whatever the answer makes of the error
            error = type(raised).__name__
        facts["after_error"] = {
            "error": error,
            "found": found_at(path, case, inode),
            "left": sum(entry != path for entry in path.parent.iterdir()),
        }
    return facts

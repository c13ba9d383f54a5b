"""What of the machine a confined kernel can see: Python, its packages, the system's programs; nothing of a class."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import grader

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/sys/devices/system/cpu")
SETTINGS = (
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "alternatives",
    "localtime",
    "fonts",
    "mime.types",
    "protocols",
)
PLAIN_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
PACKAGE = Path(grader.__file__).resolve().parent
JUDGES = PACKAGE / "judging"


def visible_paths(extra: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the files and folders that a kernel reads, none within another.

    Args:
        extra: Folders that an instructor adds, for example one of data sets.
    """
    settings = [f"/etc/{name}" for name in SETTINGS]
    pythons = [sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix]
    packages = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
    wanted = [*SYSTEM, *settings, *pythons, *packages, str(PACKAGE), *extra]
    present = [os.path.abspath(path) for path in wanted if os.path.exists(path)]
    real = [os.path.realpath(path) for path in present]
    return _outermost([*present, *real])


def hidden_paths(visible: Sequence[str], secret: Iterable[Path] = ()) -> tuple[str, ...]:
    """Return the folders that lie within what is visible and must not be seen: the judges, and what a class keeps.

    Args:
        visible: What is visible.
        secret: The classroom, and whatever else must not be seen.
    """
    repository = PACKAGE.parent
    folders = [JUDGES, repository / "solutions", repository / "tests", *(path.resolve() for path in secret)]
    return tuple(str(folder) for folder in folders if folder.is_dir() and _is_within(str(folder), visible))


def device_paths() -> tuple[str, ...]:
    """Return the device files that a kernel uses, those of an NVIDIA GPU among them."""
    graphics = sorted(str(path) for path in Path("/dev").glob("nvidia*") if not path.is_dir())
    return (*(path for path in PLAIN_DEVICES if os.path.exists(path)), *graphics)


def _outermost(paths: Iterable[str]) -> tuple[str, ...]:
    kept: list[str] = []
    for path in sorted(set(paths)):
        if not _is_within(path, kept):
            kept.append(path)
    return tuple(kept)


def _is_within(path: str, folders: Iterable[str]) -> bool:
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)

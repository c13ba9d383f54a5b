"""What of the machine a confined kernel can see: Python, its packages, the system's programs; nothing of a class."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import grader
from grader.classroom.base.errors import ClassroomError
from grader.gpu_files import gpu_files

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
# All that a kernel sees of the package; `classroom` starts the kernel in its sandbox, and holds no answer.
VISIBLE_NAMES = (
    "__init__.py",
    "channel.py",
    "classroom",
    "device.py",
    "figures.py",
    "gpu_files.py",
    "lessons",
    "lessons.json",
    "meters",
    "observation.py",
    "observing",
    "py.typed",
    "ranks",
    "registry.py",
    "testbed",
    "units.py",
    "variants.py",
    "verdict.py",
    "waiting.py",
)


def visible_paths(extra: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the files and folders that a kernel reads; a hidden path within one of them stays hidden.

    Args:
        extra: Folders that an instructor adds, for example one of data sets.
    """
    settings = [f"/etc/{name}" for name in SETTINGS]
    pythons = [sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix]
    packages = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
    wanted = [*SYSTEM, *settings, *pythons, *packages, *extra]
    present = [os.path.abspath(path) for path in wanted if os.path.exists(path)]
    real = [os.path.realpath(path) for path in present]
    own = [str(PACKAGE / name) for name in VISIBLE_NAMES if (PACKAGE / name).exists()]
    return (*_outermost([*present, *real]), *own)


def hidden_paths(visible: Sequence[str], secret: Iterable[Path] = ()) -> tuple[str, ...]:
    """Return the folders within what is visible that must not be seen; what is visible within them stays visible.

    These are the whole package, in which `VISIBLE_NAMES` alone stay visible, other copies of it, the solutions and
    tests of a checkout, and what a class keeps.

    Args:
        visible: What is visible.
        secret: The classroom, and whatever else must not be seen.

    Raises:
        ClassroomError: if the judges are missing, since what is hidden could then be somewhere else.
    """
    require_judges()
    copies = {Path(path, PACKAGE.name).resolve() for path in sys.path if path}
    checkout = [PACKAGE.parent / "solutions", PACKAGE.parent / "tests"]
    folders = {PACKAGE, *copies, *checkout, *(path.resolve() for path in secret)}
    return tuple(sorted(str(folder) for folder in folders if folder.is_dir() and _is_within(str(folder), visible)))


def require_judges() -> None:
    """Require the judges in the package.

    Raises:
        ClassroomError: if they are missing.
    """
    if not (JUDGES / "__init__.py").is_file():
        raise ClassroomError(
            f"{JUDGES}/__init__.py is missing, so no verdict can be made: the installation is incomplete. "
            "Install lean-training again, then grade again."
        )


def nested(visible: Iterable[str], hidden: Iterable[str]) -> list[tuple[str, bool]]:
    """Return each path and whether it is hidden, outer paths before those within them: the innermost one decides."""
    is_hidden = dict.fromkeys(visible, False) | dict.fromkeys(hidden, True)
    return sorted(is_hidden.items())


def device_paths() -> tuple[str, ...]:
    """Return the device files that a kernel uses, those of a GPU among them."""
    return (*(path for path in PLAIN_DEVICES if os.path.exists(path)), *gpu_files())


def _outermost(paths: Iterable[str]) -> tuple[str, ...]:
    kept: list[str] = []
    for path in sorted(set(paths)):
        if not _is_within(path, kept):
            kept.append(path)
    return tuple(kept)


def _is_within(path: str, folders: Iterable[str]) -> bool:
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)

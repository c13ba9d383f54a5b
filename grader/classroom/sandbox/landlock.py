"""Build the sandbox without namespaces: rules about files and signals (Landlock), and a filter of system calls.

There is no network at all, not even within the machine, so exercises with several ranks cannot be graded in it.
"""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path

from . import system_calls as calls
from .confinement import Confinement
from .seccomp import filter_calls
from .visible import PACKAGE

SYS_CREATE_RULESET, SYS_ADD_RULE, SYS_RESTRICT_SELF = 444, 445, 446
ABI_WITH_SIGNALS = 6  # Linux 6.12
VERSION, PATH_BENEATH = 1, 1
EXECUTE, READ_FILE, READ_FOLDER, IOCTL_DEVICE, MAKE_BLOCK, MAKE_CHARACTER = 1, 4, 8, 1 << 15, 1 << 11, 1 << 6
EVERY_ACCESS = (1 << 16) - 1
READ = EXECUTE | READ_FILE | READ_FOLDER
WRITE_FILE, TRUNCATE = 2, 1 << 14
OWN_FILES = EVERY_ACCESS & ~(MAKE_BLOCK | MAKE_CHARACTER | IOCTL_DEVICE)
OF_A_FILE = EXECUTE | READ_FILE | WRITE_FILE | TRUNCATE | IOCTL_DEVICE  # what a rule about a file may name
NO_TCP, NO_FOREIGN_SOCKETS_OR_SIGNALS = 3, 3


def scratch_folder(confinement: Confinement) -> str:
    """Return the folder in which the kernel runs and may write."""
    return f"{confinement.root}/lesson"


def prepare_scratch(confinement: Confinement) -> None:
    """Make the folder in which the kernel runs, with the lesson's files in it."""
    shutil.rmtree(scratch_folder(confinement), ignore_errors=True)
    shutil.copytree(confinement.files, scratch_folder(confinement))


def restrict_self(confinement: Confinement) -> None:
    """Restrict this process and all that it starts.

    Raises:
        OSError: if the machine's Linux has no Landlock, or one without rules about signals.
    """
    version = calls.system_call(SYS_CREATE_RULESET, None, 0, VERSION, what="Landlock")
    if version < ABI_WITH_SIGNALS:
        raise OSError(errno.ENOSYS, f"Landlock of version {version} has no rules about signals (Linux 6.12 has)")
    attributes = ctypes.create_string_buffer(struct.pack("3Q", EVERY_ACCESS, NO_TCP, NO_FOREIGN_SOCKETS_OR_SIGNALS), 24)
    rules = calls.system_call(SYS_CREATE_RULESET, attributes, 24, 0, what="Landlock's rules")
    for path in [*_without(confinement.visible, confinement.hidden), "/proc"]:
        _allow(rules, path, READ)
    for path in (*_holding(confinement.visible, confinement.hidden), str(PACKAGE)):
        _allow(rules, path, READ_FOLDER)
    for path in confinement.devices:
        _allow(rules, path, READ_FILE | WRITE_FILE | IOCTL_DEVICE)
    for path in (scratch_folder(confinement), confinement.sockets):
        _allow(rules, path, OWN_FILES)
    calls.prctl(calls.PR_SET_NO_NEW_PRIVS, 1)
    calls.system_call(SYS_RESTRICT_SELF, rules, 0, what="Landlock for this process")
    os.close(rules)
    filter_calls(has_namespaces=False)


def _allow(rules: int, path: str, access: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:  # what is not there, or closed to this user, stays so
        return
    try:
        access = access if Path(path).is_dir() else access & OF_A_FILE
        rule = ctypes.create_string_buffer(struct.pack("=Qi", access, place), 12)
        calls.system_call(SYS_ADD_RULE, rules, PATH_BENEATH, rule, 0, what=f"Landlock's rule about {path}")
    finally:
        os.close(place)


def _holding(visible: Sequence[str], hidden: Sequence[str]) -> Iterator[str]:
    """Yield the visible folders that hold a hidden one, whose list of names is read when a module is imported."""
    for path in visible:
        yield from (str(folder) for place in hidden for folder in Path(place).parents if folder.is_relative_to(path))


def _without(visible: Sequence[str], hidden: Sequence[str]) -> Iterator[str]:
    """Yield what is visible: in place of a folder that holds a hidden one, all else that it holds."""
    for path in visible:
        if path in hidden:
            continue
        if any(Path(place).is_relative_to(path) for place in hidden):
            yield from _without([str(entry) for entry in Path(path).iterdir()], hidden)
        else:
            yield path

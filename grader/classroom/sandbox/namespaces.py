"""Build the sandbox of namespaces: a file system, processes, a network and users of its own.

`enter_namespaces` is called by a process that then forks; its child is the first process of the new namespaces and
calls `settle_first_process`. As root, the file system is built first, and the rights of root are given up before the
user namespace is made, so that files of root, Python often among them, can be shown to a user who is nobody outside.
"""

from __future__ import annotations

import os
import shutil
import socket
from pathlib import Path

from . import system_calls as calls
from .confinement import Confinement
from .visible import nested

FOLDER = "/tmp/lesson"  # where the kernel runs
USER, USER_ID = "learner", 1000  # inside
HOST = "sandbox"
FIRST_UNUSED_USER = 1_900_000_000  # far above every user that a system or a directory service gives out
MOST_FILES = 50_000
FILES = {
    "/etc/passwd": f"{USER}:x:{USER_ID}:{USER_ID}::/tmp:/bin/sh\n",
    "/etc/group": f"{USER}:x:{USER_ID}:\n",
    "/etc/hosts": f"127.0.0.1 localhost {HOST}\n",
    "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    "/etc/hostname": f"{HOST}\n",
}
LINKS = {"/dev/fd": "/proc/self/fd", "/dev/stdin": "/proc/self/fd/0", "/dev/stdout": "/proc/self/fd/1"}
APART = (
    calls.CLONE_NEWUSER
    | calls.CLONE_NEWNS
    | calls.CLONE_NEWPID
    | calls.CLONE_NEWNET
    | calls.CLONE_NEWIPC
    | calls.CLONE_NEWUTS
)
SEALED = calls.MOUNT_ATTR_RDONLY | calls.MOUNT_ATTR_NOSUID | calls.MOUNT_ATTR_NODEV


def enter_namespaces(confinement: Confinement) -> None:
    """Enter new namespaces; the next process that is forked is the first of them.

    Raises:
        OSError: if the machine forbids a step; the message names it.
    """
    owner = (os.getuid(), os.getgid())
    if owner[0] == 0:
        calls.unshare(calls.CLONE_NEWNS)
        owner = (FIRST_UNUSED_USER + os.getpid(),) * 2
        _build_file_system(confinement, owner)
        _give_up_root(owner)
    calls.unshare(APART)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{USER_ID} {owner[0]} 1")
    Path("/proc/self/gid_map").write_text(f"{USER_ID} {owner[1]} 1")
    if owner[0] < FIRST_UNUSED_USER:
        _build_file_system(confinement, (USER_ID, USER_ID))


def settle_first_process() -> None:
    """Finish what only a process within the namespaces can do."""
    calls.prctl(calls.PR_SET_PDEATHSIG, 9)
    calls.mount("proc", "/proc", "proc", calls.MS_NOSUID | calls.MS_NODEV | calls.MS_NOEXEC)
    calls.bring_up_loopback()
    socket.sethostname(HOST)
    Path("/proc/sys/user/max_user_namespaces").write_text(
        "0"
    )  # no namespaces within these, where more would be allowed


def close_sockets(confinement: Confinement) -> None:
    """Make the folder of sockets read-only, since it is on the machine's disk."""
    calls.seal(confinement.sockets, calls.MOUNT_ATTR_RDONLY)


def _give_up_root(owner: tuple[int, int]) -> None:
    os.setgroups([])
    os.setresgid(owner[1], owner[1], owner[1])
    os.setresuid(owner[0], owner[0], owner[0])
    calls.prctl(calls.PR_SET_DUMPABLE, 1)  # a change of user hides a process from its own /proc


def _build_file_system(confinement: Confinement, owner: tuple[int, int]) -> None:
    """Build the file system from what is visible, and make it the root."""
    root = confinement.root
    calls.mount("none", "/", flags=calls.MS_REC | calls.MS_PRIVATE)
    limits = f"size={confinement.bounds.scratch_bytes},nr_inodes={MOST_FILES},mode=0755,uid={owner[0]},gid={owner[1]}"
    calls.mount("tmpfs", root, "tmpfs", calls.MS_NOSUID | calls.MS_NODEV, limits)
    for path in ("/tmp", "/dev/shm", "/var/tmp"):
        os.makedirs(root + path)
        os.chmod(root + path, 0o1777)
    shutil.copytree(confinement.files, root + FOLDER)
    os.makedirs(root + confinement.home, exist_ok=True)
    for path, text in FILES.items():
        os.makedirs(os.path.dirname(root + path), exist_ok=True)
        Path(root + path).write_text(text)
    for path, target in LINKS.items():
        os.symlink(target, root + path)
    _give_to(owner, root + FOLDER, root + confinement.home)
    for path, is_hidden in nested(confinement.visible, confinement.hidden):
        if is_hidden:
            calls.mount("tmpfs", root + path, "tmpfs", calls.MS_NOSUID | calls.MS_NODEV, "size=4k,mode=0755")
        else:
            _show(root, path, SEALED)
    for path in confinement.hidden:
        calls.seal(root + path, SEALED)
    for path in confinement.devices:
        _show(root, path, calls.MOUNT_ATTR_NOSUID | calls.MOUNT_ATTR_NOEXEC)
    _give_to(owner, confinement.sockets)
    _show(root, confinement.sockets, calls.MOUNT_ATTR_NOSUID | calls.MOUNT_ATTR_NODEV | calls.MOUNT_ATTR_NOEXEC)
    _show(root, "/proc", 0)  # that of the machine, until the first process covers it with its own
    calls.pivot_into(root)


def _give_to(owner: tuple[int, int], *folders: str) -> None:
    for folder in folders:
        for place, folders_below, files in os.walk(folder):
            for name in ("", *folders_below, *files):
                os.chown(os.path.join(place, name), *owner, follow_symlinks=False)


def _show(root: str, path: str, attributes: int) -> None:
    """Show a file, a folder or a link of the machine at its own path below `root`."""
    place = root + path
    os.makedirs(os.path.dirname(place), exist_ok=True)
    if os.path.islink(path):
        os.symlink(os.readlink(path), place)
        return
    if os.path.isdir(path):
        os.makedirs(place, exist_ok=True)
    else:
        Path(place).touch()
    calls.mount(path, place, flags=calls.MS_BIND | calls.MS_REC)
    if attributes:
        calls.seal(place, attributes)

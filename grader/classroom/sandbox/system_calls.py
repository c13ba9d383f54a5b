"""Call the Linux functions of a sandbox that Python's standard library lacks."""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
MNT_DETACH = 2
MOUNT_ATTR_RDONLY, MOUNT_ATTR_NOSUID, MOUNT_ATTR_NODEV, MOUNT_ATTR_NOEXEC = 1, 2, 4, 8
SYS_MOUNT_SETATTR, AT_FDCWD, AT_RECURSIVE = 442, -100, 0x8000

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 1, 4, 24, 38
PR_SET_CHILD_SUBREAPER, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 36, 47, 4
CAPABILITY_VERSION_3 = 0x20080522
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1

_libc = ctypes.CDLL(None, use_errno=True)


def check(result: int, what: str) -> int:
    """Return a call's result.

    Raises:
        OSError: if it is negative; the message says what failed.
    """
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def unshare(flags: int) -> None:
    """Leave namespaces of the parent for new ones."""
    check(_libc.unshare(ctypes.c_int(flags)), "unshare")


def mount(source: str, target: str, kind: str = "", flags: int = 0, options: str = "") -> None:
    """Mount `source` at `target`."""
    kinds, data = kind.encode() or None, options.encode() or None
    result = _libc.mount(source.encode(), target.encode(), kinds, ctypes.c_ulong(flags), data)
    check(result, f"mount {source} at {target}")


def seal(folder: str, attributes: int) -> None:
    """Set attributes of a mount and of all mounts below it, for example MOUNT_ATTR_RDONLY."""
    request = ctypes.create_string_buffer(struct.pack("4Q", attributes, 0, 0, 0), 32)
    path = ctypes.create_string_buffer(folder.encode())
    size = ctypes.sizeof(request)
    system_call(SYS_MOUNT_SETATTR, AT_FDCWD, path, AT_RECURSIVE, request, size, what=f"mount_setattr {folder}")


def pivot_into(folder: str) -> None:
    """Make `folder`, a mount point, the root of the file system, and let go of the old root."""
    os.chdir(folder)
    check(_libc.pivot_root(b".", b"."), f"pivot_root {folder}")
    check(_libc.umount2(b".", MNT_DETACH), "umount the old root")
    os.chdir("/")


def prctl(option: int, value: int = 0, second: int = 0) -> None:
    """Set a property of this process."""
    zero = ctypes.c_ulong(0)
    result = _libc.prctl(ctypes.c_int(option), ctypes.c_ulong(value), ctypes.c_ulong(second), zero, zero)
    check(result, f"prctl {option}")


def drop_capabilities() -> None:
    """Give up every capability, for this process and all that it runs from now on."""
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    with open("/proc/sys/kernel/cap_last_cap", encoding="ascii") as file:
        last = int(file.read())
    for capability in range(last + 1):
        prctl(PR_CAPBSET_DROP, capability)
    header = struct.pack("Ii", CAPABILITY_VERSION_3, 0)
    check(_libc.capset(header, bytes(24)), "capset")
    prctl(PR_SET_NO_NEW_PRIVS, 1)


def bring_up_loopback() -> None:
    """Bring up `lo` of this network namespace."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        name = b"lo"
        (flags,) = struct.unpack_from("16xH", fcntl.ioctl(control, SIOCGIFFLAGS, struct.pack("16sH14x", name, 0)))
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sH14x", name, flags | IFF_UP))


def system_call(number: int, *arguments: int | ctypes.Array[ctypes.c_char] | None, what: str) -> int:
    """Make a system call that the C library has no name for."""
    return check(int(_libc.syscall(ctypes.c_long(number), *arguments)), what)

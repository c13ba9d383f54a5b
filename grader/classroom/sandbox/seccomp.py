"""Filter system calls that reach tables of the system and, without namespaces, the network and other processes."""

from __future__ import annotations

import ctypes
import errno
import platform
import socket
import struct
from collections.abc import Mapping

from . import system_calls as calls

PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2
ALLOW, ERROR, KILL = 0x7FFF0000, 0x00050000, 0x80000000
LOAD, JUMP_IF_EQUAL, JUMP_IF_AT_LEAST, JUMP_IF_ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16  # offsets in struct seccomp_data; arguments have eight bytes
MACHINE, X86_64, X32_CALLS = "x86_64", 0xC000003E, 0x40000000
NEW_NAMESPACES = 0x7E020000  # CLONE_NEW*

NO_NETWORK = errno.EOPNOTSUPP  # the only answer that ZeroMQ survives when it lists the interfaces
SOCKET, CLONE, CLONE3, PRLIMIT = 41, 56, 435, 302
# What reaches tables of the system that no namespace keeps apart, or parts of it that few programs use.
NOT_KEPT_APART = {
    "add_key": 248,
    "request_key": 249,
    "keyctl": 250,
    "bpf": 321,
    "perf_event_open": 298,
    "userfaultfd": 323,
    "io_uring_setup": 425,
    "kexec_load": 246,
    "open_by_handle_at": 304,
    # Memory that no process has mapped, so that nobody sees it.
    "memfd_create": 319,
    "memfd_secret": 447,
    "shmget": 29,
    "msgget": 68,
}
# What reaches other processes, or leaves the group of processes that is killed at the end.
OF_OTHERS = {
    "ptrace": 101,
    "process_vm_readv": 310,
    "process_vm_writev": 311,
    "setsid": 112,
    "setpgid": 109,
    "unshare": 272,
    "setns": 308,
    "mount": 165,
    "umount2": 166,
    "pivot_root": 155,
    "chroot": 161,
}
# Changes of a file's owner, mode or times, which Landlock does not cover, and of a process's share of the processors,
# which ZeroMQ asks for: they seem to work and do nothing.
IGNORED = {
    "setpriority": 141,
    "sched_setscheduler": 144,
    "sched_setaffinity": 203,
    "chmod": 90,
    "fchmod": 91,
    "chown": 92,
    "fchown": 93,
    "lchown": 94,
    "utime": 132,
    "setxattr": 188,
    "lsetxattr": 189,
    "fsetxattr": 190,
    "removexattr": 197,
    "lremovexattr": 198,
    "fremovexattr": 199,
    "utimes": 235,
    "fchownat": 260,
    "futimesat": 261,
    "fchmodat": 268,
    "utimensat": 280,
    "fchmodat2": 452,
}


def filter_calls(*, has_namespaces: bool) -> None:
    """Filter the system calls of this process and of all that it starts.

    Args:
        has_namespaces: Whether namespaces keep the process from the network and from others; if not, the filter does.

    Raises:
        OSError: if the machine has no such filter, or its processor is not one that this was written for.
    """
    if platform.machine() != MACHINE:
        raise OSError(errno.ENOSYS, f"the filter of system calls is written for {MACHINE}, not {platform.machine()}")
    program = [_load(ARCHITECTURE), *_unless(X86_64, KILL), _load(NUMBER)]
    program += [_jump(JUMP_IF_AT_LEAST, X32_CALLS, 0, 1), _answer(KILL), *_answers(NOT_KEPT_APART, errno.EPERM)]
    program += [*([] if has_namespaces else _apart()), _answer(ALLOW)]
    instructions = ctypes.create_string_buffer(b"".join(program))
    header = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(program), ctypes.addressof(instructions)))
    calls.prctl(calls.PR_SET_NO_NEW_PRIVS, 1)
    calls.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(header))


def _apart() -> list[bytes]:
    """Return the rules that replace namespaces: each ends in an answer, or goes on to the next one."""
    allow = _answer(ALLOW)
    no_namespace = [_jump(JUMP_IF_ANY_BIT, NEW_NAMESPACES, 0, 1), _answer(ERROR | errno.EPERM), allow]
    return [
        *_answers(OF_OTHERS, errno.EPERM),
        *_answers(IGNORED, 0),
        *_answers({"clone3": CLONE3}, errno.ENOSYS),  # libraries then use clone, whose flags can be read
        *_if_call(SOCKET, [*_unless(socket.AF_UNIX, ERROR | NO_NETWORK), allow]),
        *_if_call(CLONE, no_namespace),
        *_if_call(PRLIMIT, [*_unless(0, ERROR | errno.EPERM), allow]),
    ]


def _answers(numbers: Mapping[str, int], error: int) -> list[bytes]:
    rules = []
    for number in numbers.values():
        rules += [_jump(JUMP_IF_EQUAL, number, 0, 1), _answer(ERROR | error)]
    return rules


def _if_call(number: int, rule: list[bytes]) -> list[bytes]:
    """Return a rule about the first argument of one call."""
    return [_jump(JUMP_IF_EQUAL, number, 0, len(rule) + 1), _load(FIRST_ARGUMENT), *rule]


def _unless(value: int, answer: int) -> list[bytes]:
    return [_jump(JUMP_IF_EQUAL, value, 1, 0), _answer(answer)]


def _load(offset: int) -> bytes:
    return struct.pack("HBBI", LOAD, 0, 0, offset)


def _jump(kind: int, value: int, if_true: int, if_false: int) -> bytes:
    return struct.pack("HBBI", kind, if_true, if_false, value)


def _answer(value: int) -> bytes:
    return struct.pack("HBBI", RETURN, 0, 0, value)

"""Measure from outside how far a kernel's memory grows while a check measures a step.

The kernel signals on a socket when a measured step begins and ends, and waits each time until this side has looked.
Linux says with every signal which process sent it, in this side's numbering, so a child of the kernel cannot speak
for it. Memory is read where Linux keeps it, in /proc.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from pathlib import Path
from typing import Any, Protocol

from grader.channel import ACKNOWLEDGED, BEGIN, END, KERNEL

CREDENTIALS = struct.Struct("3i")  # process, user, group
MOST_SIGNALS = 1000  # of one cell, and taken at once
KIB = 1024
_CREDENTIALS = getattr(socket, "SCM_CREDENTIALS", 2)


class MemoryReader(Protocol):
    """Reads the memory of a process; one of a CUDA device would ask NVML, which has no peak to reset."""

    def begin(self, process: int) -> int | None:
        """Begin a new peak, and return the bytes held; None if this cannot be done."""

    def peak_bytes(self, process: int) -> int | None:
        """Return the most bytes held since `begin`; None if they cannot be read."""


class ProcessMemory:
    """Reads the resident memory of a process, and its high-water mark."""

    def begin(self, process: int) -> int | None:
        """Bring the high-water mark down to what is resident, and return that."""
        try:
            Path(f"/proc/{process}/clear_refs").write_text("5")
        except OSError:
            return None
        return _status_bytes(process, "VmRSS:")

    def peak_bytes(self, process: int) -> int | None:
        """Return the high-water mark."""
        return _status_bytes(process, "VmHWM:")


def _status_bytes(process: int, field: str) -> int | None:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{process}/status").read_text().splitlines():
            if line.startswith(field):
                return KIB * int(line.split()[1])
    return None


class StepSignals:
    """The runner's end of the socket on which a kernel announces its measured steps."""

    def __init__(self, reader: MemoryReader | None = None):
        self.reader = reader or ProcessMemory()
        self.kernel: int | None = None
        self.is_readable = False
        self.most_bytes: int | None = None  # the most that any kernel of the run has held
        self._is_awaited = False
        self._begun: int | None = None  # bytes held when the open step began
        self._is_open = False
        self._grown_bytes: list[int | None] = []
        self._strays = 0
        self._ours, self.theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._ours.setblocking(False)

    @classmethod
    def open(cls) -> StepSignals | None:
        """Open the socket; None where the system does not say who sent a signal."""
        return cls() if hasattr(socket, "SO_PASSCRED") else None

    def listen(self) -> None:
        """Answer signals while the running event loop runs."""
        asyncio.get_running_loop().add_reader(self._ours, self._receive)

    def await_kernel(self) -> None:
        """Forget the kernel that was, and take the next introduction as the new one's."""
        self.take()
        self.kernel, self._is_awaited = None, True

    def end_introduction(self) -> None:
        """Take no introduction from now on, since a learner's code may run."""
        self._receive()
        self._is_awaited = False

    def close(self) -> None:
        """Close both ends."""
        self._ours.close()
        self.theirs.close()

    def take(self) -> dict[str, Any] | None:
        """Return what was seen since the last call, as CellRun.steps has it; None if the kernel never spoke."""
        self._receive()
        self._note_peak()
        seen = {"grown_bytes": self._grown_bytes, "strays": self._strays + self._is_open}
        self._grown_bytes, self._strays, self._is_open = [], 0, False
        return None if self.kernel is None else seen

    def _receive(self) -> None:
        for _ in range(MOST_SIGNALS):
            try:
                signal, ancillary, _, _ = self._ours.recvmsg(16, socket.CMSG_SPACE(CREDENTIALS.size))
            except BlockingIOError:
                return
            if not signal:
                return
            sender = next((CREDENTIALS.unpack(data)[0] for _, kind, data in ancillary if kind == _CREDENTIALS), 0)
            if self._take_signal(signal, sender):
                with contextlib.suppress(OSError):
                    self._ours.send(ACKNOWLEDGED)

    def _take_signal(self, signal: bytes, sender: int) -> bool:
        """Take one signal; return whether its sender is to be answered."""
        if signal == KERNEL and self._is_awaited:
            self.kernel, self._is_awaited = sender, False
            self.is_readable = self.reader.begin(sender) is not None
            return False
        if sender == self.kernel and signal == BEGIN and not self._is_open and self._has_room():
            self._note_peak()
            self._is_open, self._begun = True, self.reader.begin(sender)
            return True
        if sender == self.kernel and signal == END and self._is_open:
            self._is_open = False
            self._end_step(sender)
            return True
        self._strays += 1
        return sender == self.kernel

    def _note_peak(self) -> None:
        peak_bytes = None if self.kernel is None else self.reader.peak_bytes(self.kernel)
        if peak_bytes is not None:
            self.most_bytes = max(peak_bytes, self.most_bytes or 0)

    def _has_room(self) -> bool:
        return len(self._grown_bytes) < MOST_SIGNALS

    def _end_step(self, kernel: int) -> None:
        peak_bytes = self.reader.peak_bytes(kernel)
        if self._begun is not None and peak_bytes is not None:
            self._grown_bytes.append(peak_bytes - self._begun)
            return
        self._grown_bytes.append(None)
        self._strays += self.is_readable  # it was readable before the learner's code ran

"""Test a sandbox from the inside: whether it keeps its promises on this machine."""

from __future__ import annotations

import errno
import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path

OUTSIDE = ("192.0.2.1", 9)  # an address that belongs to nobody (RFC 5737)
BLOCKED = {errno.ENETUNREACH, errno.EACCES, errno.EPERM, errno.EOPNOTSUPP}


def look_around(arguments: list[str], *, ready: Callable[[], None]) -> None:
    """Try what must not work; end with exit code 0 if none of it does, else with 1 and the reason.

    Args:
        arguments: Where to write the reason; the judges' folder; a file of the machine that must not be seen; "yes" if
            there is a loopback.
        ready: Called when all has been tried.
    """
    report, judges, secret, has_loopback = arguments
    reason = next(
        filter(None, (_sees(judges), _reads(secret), _writes(secret), _reaches_out(), _lacks(has_loopback))), ""
    )
    Path(report).write_text(reason)
    ready()
    sys.exit(1 if reason else 0)


def _sees(judges: str) -> str:
    path = Path(judges, "__init__.py")
    try:
        path.read_bytes()
    except OSError:
        return ""
    return "the judges can be read"


def _reads(secret: str) -> str:
    try:
        Path(secret).read_bytes()
    except OSError:
        return ""
    return "files of the machine can be read"


def _writes(secret: str) -> str:
    for folder in (os.path.dirname(secret), os.path.dirname(os.__file__)):
        try:
            Path(folder, "lean-training-probe").write_text("")
        except OSError:
            continue
        return f"{folder} can be written"
    return ""


def _reaches_out() -> str:
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as client:
            client.settimeout(1)
            client.connect(OUTSIDE)
    except OSError as error:
        return "" if error.errno in BLOCKED else f"the network can be reached ({error})"
    return "the network can be reached"


def _lacks(has_loopback: str) -> str:
    if has_loopback != "yes":
        return ""
    try:
        with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname(), 1):
            return ""
    except OSError as error:
        return f"there is no loopback ({error})"

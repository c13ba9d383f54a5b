"""Write bytes and seconds as text; define MiB and its neighbours."""

from __future__ import annotations

KIB = 2**10
MIB = 2**20
GIB = 2**30


def format_bytes(bytes_count: float) -> str:
    """Write a number of bytes as MiB, or as bytes below 0.1 MiB.

    In this convention 1 MiB = 2**20 bytes, as `nvidia-smi` counts, and not 10**6.

    Args:
        bytes_count: Bytes; negative for a difference.

    Returns:
        For example "37.4 MiB", "11,968.2 MiB", "512 bytes".
    """
    if abs(bytes_count) < MIB / 10:
        return f"{bytes_count:,.0f} bytes"
    return f"{bytes_count / MIB:,.1f} MiB"


def format_seconds(seconds: float) -> str:
    """Write a duration in s, ms or µs with three digits.

    Args:
        seconds: Seconds.

    Returns:
        For example "1.25 s", "37.4 ms", "512 µs".
    """
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds >= 1 / scale or unit == "µs":
            return f"{seconds * scale:.3g} {unit}"
    raise AssertionError("unreachable: the last unit takes every duration")

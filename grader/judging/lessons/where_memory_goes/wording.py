"""How verdicts of lesson 01 write exact counts of bytes."""

from __future__ import annotations

from grader.units import MIB, format_bytes


def say_bytes(bytes_count: float) -> str:
    """Write every byte, and MiB beside a large number: "405,920 bytes (0.4 MiB)"."""
    exact = f"{bytes_count:,.0f} bytes" if bytes_count == round(bytes_count) else f"{bytes_count:,.2f} bytes"
    return f"{exact} ({format_bytes(bytes_count)})" if abs(bytes_count) >= MIB / 10 else exact

"""Writes exact counts of bytes for the verdicts of lesson 01."""

from __future__ import annotations

from grader.units import MIB, format_bytes


def format_byte_count(bytes_count: float) -> str:
    """Write every byte, and a large number in MiB as well: "405,920 bytes (0.4 MiB)"."""
    exact = f"{bytes_count:,.0f} bytes" if float(bytes_count).is_integer() else f"{bytes_count:,.2f} bytes"
    return f"{exact} ({format_bytes(bytes_count)})" if abs(bytes_count) >= MIB / 10 else exact

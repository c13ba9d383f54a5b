"""Read an instructor's tables, whatever separator and encoding the spreadsheet wrote."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

from .errors import ClassroomError

FORMULA = ("=", "+", "-", "@", "\t", "\r")  # prefixes that a spreadsheet reads as a formula


def read_table(path: Path) -> tuple[list[str], list[dict[str, str]]]:
    """Read a CSV file with a header line, separated by commas, semicolons or tabs.

    Returns:
        The column names unchanged, and one dict per line, keyed by them; empty lines are skipped.

    Raises:
        ClassroomError: if it cannot be read, or has no header.
    """
    text = _read_text(path)
    first = text.lstrip("\r\n").partition("\n")[0]
    separator = max(",;\t", key=first.count)
    try:
        lines = [line for line in csv.reader(io.StringIO(text, newline=""), delimiter=separator) if any(line)]
    except csv.Error as error:
        raise ClassroomError(f"{path} is no CSV table: {error}.") from None
    if not lines:
        raise ClassroomError(f"{path} is empty. Its first line names the columns.")
    header = [name.strip() for name in lines[0]]
    for line in lines[1:]:
        if len(line) == 1 < len(header) and any(other in line[0] for other in ",;\t"):
            raise ClassroomError(
                f"{path}: the first line is separated by {separator!r}, and {line[0]!r} by something else. "
                "Use one of them."
            )
    return header, [dict(zip(header, (cell.strip() for cell in line), strict=False)) for line in lines[1:]]


def as_text(cell: str) -> str:
    """Return a cell that a spreadsheet shows as text, whoever chose it."""
    return f"'{cell}" if cell.startswith(FORMULA) else cell


def _read_text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise ClassroomError(f"{path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise ClassroomError(f"{path} is not UTF-8 text. Export it as CSV (UTF-8), not as a spreadsheet.") from None


def require_columns(path: Path, header: Sequence[str], names: Iterable[str]) -> None:
    """Refuse a table that lacks a column.

    Raises:
        ClassroomError: naming what is missing and what is there.
    """
    missing = [name for name in names if name not in header]
    if missing:
        raise ClassroomError(f"{path} has no column {', '.join(missing)}. It has: {', '.join(header)}.")

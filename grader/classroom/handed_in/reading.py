"""Parse the cells from the bytes of a submitted file, or explain why there are none."""

from __future__ import annotations

import json
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.units import MIB, format_bytes

LARGEST_NOTEBOOK_BYTES = 64 * MIB
MOST_CELLS = 5000
CONFLICT = re.compile(r"^(<{7} |={7}$|>{7} )", re.MULTILINE)


class Unreadable(Exception):
    """A submitted file that holds no notebook; the message says why, and what to ask the learner for."""


@dataclass(frozen=True)
class LearnerCell:
    """One cell as it was handed in, without outputs, tags or other metadata.

    Attributes:
        kind: "code", "markdown" or "raw".
        source: Its text.
        grade_id: The id in nbgrader's metadata, or "".
        cell_id: The id of the notebook format, or "".
    """

    kind: str
    source: str
    grade_id: str = ""
    cell_id: str = ""


def read_plain_file(path: Path) -> bytes:
    """Read a regular file of reasonable size; follow no link.

    Raises:
        Unreadable: if it is anything else.
    """
    try:
        # O_NONBLOCK: opening a named pipe would wait for a writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        if path.is_symlink():
            raise Unreadable(f"{path.name} is a link; a link is never followed. Ask for the file itself.") from None
        raise Unreadable(f"{path.name} cannot be opened: {error.strerror}") from None
    try:
        _refuse_unless_plain(path.name, os.fstat(descriptor))
        with os.fdopen(os.dup(descriptor), "rb") as file:
            return file.read(LARGEST_NOTEBOOK_BYTES + 1)
    finally:
        os.close(descriptor)


def _refuse_unless_plain(name: str, status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise Unreadable(f"{name} is a folder, not a notebook. Ask for the file itself.")
    if not stat.S_ISREG(status.st_mode):
        raise Unreadable(f"{name} is not a plain file. Ask for the notebook itself.")
    if status.st_size > LARGEST_NOTEBOOK_BYTES:
        sizes = f"{format_bytes(status.st_size)}, more than {format_bytes(LARGEST_NOTEBOOK_BYTES)}"
        raise Unreadable(f"{name} has {sizes}. Ask for the notebook without outputs.")


def parse_cells(content: bytes) -> tuple[LearnerCell, ...]:
    """Return the cells of a notebook of format 3 or 4; everything but source and ids is dropped.

    Raises:
        Unreadable: if the bytes are no notebook.
    """
    if not content.strip():
        raise Unreadable("the file is empty: the upload did not work. It has to be handed in again.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Unreadable("the file is not text, so it is no notebook (perhaps an archive: unpack it).") from None
    notebook = _parse_json(text)
    cells = _raw_cells(notebook)
    if len(cells) > MOST_CELLS:
        raise Unreadable(f"the notebook has {len(cells)} cells, more than {MOST_CELLS}.")
    return tuple(_learner_cell(cell) for cell in cells)


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        raise Unreadable("the file is nested too deeply to be a notebook.") from None
    except ValueError as error:
        mark = CONFLICT.search(text)
        if mark:
            line = text.count("\n", 0, mark.start()) + 1
            reason = f"line {line} has a conflict mark of git: the merge was not finished. Ask for the merged file."
            raise Unreadable(reason) from None
        is_at_end = getattr(error, "pos", 0) >= len(text.rstrip()) - 1 or "Unterminated string" in str(error)
        if text.lstrip().startswith("{") and is_at_end:
            raise Unreadable(
                "the file stops in the middle: the upload was cut off. It has to be handed in again."
            ) from None
        raise Unreadable("the file holds no notebook, whatever its name says. Ask for the .ipynb again.") from None


def _raw_cells(notebook: Any) -> list[Any]:
    if isinstance(notebook, dict):
        cells = notebook.get("cells")
        if isinstance(cells, list):
            return cells
        sheets = notebook.get("worksheets")  # format 3
        if isinstance(sheets, list):
            return [cell for sheet in sheets if isinstance(sheet, dict) for cell in _list(sheet.get("cells"))]
    raise Unreadable("the file is JSON, but no notebook: it has no cells.")


def _learner_cell(cell: Any) -> LearnerCell:
    if not isinstance(cell, dict):
        raise Unreadable("the notebook has a cell that is no cell.")
    source = cell.get("source", cell.get("input", ""))
    if isinstance(source, list):
        source = "".join(part for part in source if isinstance(part, str))
    metadata = cell.get("metadata")
    nbgrader = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    grade_id = nbgrader.get("grade_id") if isinstance(nbgrader, dict) else None
    return LearnerCell(
        kind=_text(cell.get("cell_type")) or "raw",
        source=_text(source).encode("utf-8", "replace").decode("utf-8"),  # lone surrogates cannot be written
        grade_id=_text(grade_id),
        cell_id=_text(cell.get("id")),
    )


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""

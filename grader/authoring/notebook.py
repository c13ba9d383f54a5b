"""Build a notebook with nbgrader's metadata from cells with keys, the same bytes each time."""

from __future__ import annotations

import copy
import hashlib
import re
from collections.abc import Iterable, Sequence
from typing import Any

import nbformat
from nbformat.notebooknode import NotebookNode

from .header import badge_cell, set_up_cell
from .repository import RepositoryAddress
from .source import SourceCell

KERNELSPEC = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
LANGUAGE_INFO = {"file_extension": ".py", "mimetype": "text/x-python", "name": "python", "pygments_lexer": "ipython3"}
# What a class's own master needs: where further points begin, and which checks need a network of one machine.
KEPT_TAGS = ("further", "needs-loopback")
ID_CHARACTERS = 8
SCHEMA_VERSION = 3


def assemble(stem: str, cells: Iterable[SourceCell], address: RepositoryAddress | None) -> NotebookNode:
    """Put the solved notebook together: header, identity lines, metadata, stable cell ids.

    Args:
        stem: The lesson's name, for the badge.
        cells: The cells of the source, whose structure is right.
        address: Where Colab finds the course; None for a notebook without a header.

    Returns:
        The notebook, unlocked and without checksums.
    """
    lesson = list(cells)
    every_cell = [*(_header(stem, lesson, address) if address else ()), *lesson]
    built = [_build_cell(cell, cell_id) for cell, cell_id in zip(every_cell, content_ids(every_cell), strict=True)]
    metadata = {"kernelspec": dict(KERNELSPEC), "language_info": dict(LANGUAGE_INFO)}
    return nbformat.v4.new_notebook(cells=built, metadata=metadata, nbformat_minor=5)


def _header(stem: str, lesson: Sequence[SourceCell], address: RepositoryAddress) -> tuple[SourceCell, SourceCell]:
    code = "\n".join(cell.source for cell in lesson if cell.kind == "code")
    return SourceCell("markdown", badge_cell(stem, address)), SourceCell("code", set_up_cell(address, code))


def content_ids(cells: Sequence[SourceCell]) -> list[str]:
    """Give each cell an id from its own content; equal cells are numbered in order.

    The solved content counts, so that a changed answer changes the release and `release --check` reports it.
    """
    seen: dict[str, int] = {}
    ids = []
    for cell in cells:
        digest = hashlib.sha256(f"{cell.kind}\n{cell.source}".encode()).hexdigest()[:ID_CHARACTERS]
        seen[digest] = seen.get(digest, 0) + 1
        ids.append(digest if seen[digest] == 1 else f"{digest}-{seen[digest]}")
    return ids


def identity_line(cell: SourceCell) -> str:
    """Return the comment that identifies a cell whose metadata is lost, or ""."""
    if cell.exercise:
        return f"# exercise: {cell.exercise}\n"
    if cell.check:
        points = cell.keys["points"]
        return f"# check: {cell.check} ({points} point{'s' if points > 1 else ''})\n"
    return ""


def _unfolded_as_markdown(text: str) -> str:
    """Surround folded text with empty lines: without them it is HTML, which shows Markdown as it was typed."""
    text = re.sub(r"(<summary>)(.*?)(</summary>)\s*", _summary, text, flags=re.DOTALL)
    return re.sub(r"\s*</details>", "\n\n</details>", text)


def _summary(found: re.Match[str]) -> str:
    begin, words, end = found.groups()
    return begin + re.sub(r"`([^`]*)`", r"<code>\1</code>", words) + end + "\n\n"  # always HTML


def _build_cell(cell: SourceCell, cell_id: str) -> NotebookNode:
    new_cell = nbformat.v4.new_code_cell if cell.kind == "code" else nbformat.v4.new_markdown_cell
    metadata: dict[str, Any] = {}
    nbgrader = _nbgrader_metadata(cell, cell_id)
    if nbgrader:
        metadata["nbgrader"] = nbgrader
    tags = [tag for tag in cell.tags if tag in KEPT_TAGS]
    if tags:
        metadata["tags"] = tags
    text = cell.source if cell.kind == "code" else _unfolded_as_markdown(cell.source)
    return new_cell(source=identity_line(cell) + text, id=cell_id, metadata=metadata)


def _nbgrader_metadata(cell: SourceCell, cell_id: str) -> dict[str, Any]:
    """Expand the cell keys to nbgrader's schema, version 3; {} for a cell that it does not know."""
    base = {"schema_version": SCHEMA_VERSION, "task": False}
    if cell.exercise:
        return base | {"grade_id": cell.exercise, "grade": False, "solution": True, "locked": False}
    if cell.check:
        flags = {"grade": True, "solution": False, "locked": True, "points": cell.keys["points"]}
        return base | {"grade_id": cell.check} | flags
    if cell.is_given:
        return base | {"grade_id": f"given_{cell_id}", "grade": False, "solution": False, "locked": True}
    return {}


def clear_solutions(notebook: NotebookNode) -> NotebookNode:
    """Return a copy with each solution region replaced by nbgrader's stub, by nbgrader itself."""
    from nbgrader.preprocessors import ClearSolutions

    cleared, _ = ClearSolutions().preprocess(copy.deepcopy(notebook), {})
    return cleared


def stub_source(source: str) -> str:
    """Return an exercise cell as students get it, without its identity line."""
    metadata = {"nbgrader": {"schema_version": SCHEMA_VERSION, "grade": False, "solution": True, "locked": False}}
    cell = nbformat.v4.new_code_cell(source=source, metadata=metadata)
    return str(clear_solutions(nbformat.v4.new_notebook(cells=[cell])).cells[0].source)


def lock_and_sign(notebook: NotebookNode, *, is_locked: bool) -> NotebookNode:
    """Return a copy with nbgrader's checksums, and its locks where asked, by nbgrader itself."""
    from nbgrader.preprocessors import CheckCellMetadata, ComputeChecksums, LockCells

    signed = copy.deepcopy(notebook)
    for preprocessor in (*([LockCells()] if is_locked else []), ComputeChecksums(), CheckCellMetadata()):
        signed, _ = preprocessor.preprocess(signed, {})
    return signed


def notebook_text(notebook: NotebookNode) -> str:
    """Return the text of the file: keys sorted, one final newline."""
    return str(nbformat.writes(notebook, version=nbformat.NO_CONVERT)).rstrip("\n") + "\n"

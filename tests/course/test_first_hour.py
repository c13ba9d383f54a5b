"""What a stranger meets first."""

from __future__ import annotations

from pathlib import Path

import nbformat

FIRST_LESSON = Path(__file__).parents[2] / "course" / "00_three_forms.ipynb"
MOST_CELLS = 5


def test_the_first_check_is_among_the_first_five_code_cells() -> None:
    cells = nbformat.reads(FIRST_LESSON.read_text(encoding="utf-8"), as_version=4).cells
    code = [cell for cell in cells if cell.cell_type == "code"]
    checks = [number for number, cell in enumerate(code, start=1) if cell.metadata.get("nbgrader", {}).get("grade")]
    assert checks[0] <= MOST_CELLS


def test_the_first_text_says_where_run_all_stops() -> None:
    cells = nbformat.reads(FIRST_LESSON.read_text(encoding="utf-8"), as_version=4).cells
    title = next(cell.source for cell in cells if cell.source.startswith("# 0. "))
    said = "Run All stops at the first check of an unsolved exercise; that is expected."
    assert said in " ".join(title.split())

"""Feedback pages are those that nbgrader makes by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from bs4 import BeautifulSoup
from nbconvert.exporters import HTMLExporter
from nbformat.notebooknode import NotebookNode

from grader.classroom.feedback_pages import PageExporter

FIGURE = {"image/png": "iVBORw0KGgo=", "text/plain": "a figure"}


def notebook(*, extra: str, output: dict[str, Any]) -> NotebookNode:
    code = nbformat.v4.new_code_cell(
        "%%time\nx = 1 < 2  # a comment",
        outputs=[
            nbformat.v4.new_output("stream", text="3 < 4 & 5\n"),
            nbformat.v4.new_output("display_data", data=output),
        ],
    )
    cells = [nbformat.v4.new_markdown_cell("# Title\n\n$a < b$ and `x`"), code, nbformat.v4.new_markdown_cell(extra)]
    return nbformat.v4.new_notebook(cells=cells)


@pytest.mark.parametrize(
    ("extra", "output"),
    [
        ("plain text", {"text/plain": "42"}),
        ("![no description](a.png)", FIGURE),
        ('<img src="a.png">', {"text/html": "<b>unclosed"}),
        ("the word jp-Notebook", {"text/markdown": "*so*"}),
        ("x" * 12_000, {"text/html": "<img src='<'>"}),
    ],
)
def test_a_page_is_the_one_that_nbconvert_makes(extra: str, output: dict[str, Any]) -> None:
    ours, stock = PageExporter(template_name="classic"), HTMLExporter(template_name="classic")
    made = notebook(extra=extra, output=output)
    for _ in range(2):  # the second page is made from what the first one left
        page, _ = ours.from_notebook_node(made)
        expected, _ = stock.from_notebook_node(made)
        assert str(BeautifulSoup(page, features="html.parser")) == expected


def test_an_image_without_description_gets_one() -> None:
    page, _ = PageExporter(template_name="classic").from_notebook_node(
        notebook(extra='<img src="a.png">', output={"text/plain": "1"})
    )
    assert 'alt="No description has been provided for this image"' in page


def test_an_attached_image_is_the_cells_own() -> None:
    exporter = PageExporter(template_name="classic")
    for content in ("AAAA", "BBBB"):
        cell = nbformat.v4.new_markdown_cell("![figure](attachment:figure.png)")
        cell.attachments = {"figure.png": {"image/png": content}}
        page, _ = exporter.from_notebook_node(nbformat.v4.new_notebook(cells=[cell]))
        assert f"base64,{content}" in page


def test_nothing_is_kept_of_earlier_notebooks(tmp_path: Path) -> None:
    exporter = PageExporter(template_name="classic")
    for number in range(5):
        path = tmp_path / f"{number}.ipynb"
        nbformat.write(notebook(extra="text", output={"text/plain": "1"}), path)
        exporter.from_filename(str(path))
    assert len(exporter._nb_metadata) == 1

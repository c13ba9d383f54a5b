from __future__ import annotations

import json
from pathlib import Path

import nbformat
import pytest
import toy
from markdown_it import MarkdownIt
from nbformat.notebooknode import NotebookNode
from nbgrader.utils import compute_checksum

from grader.authoring.lesson import build_master, build_release, lesson_points
from grader.authoring.notebook import notebook_text
from grader.classroom.handed_in.alignment import align
from grader.classroom.lesson.master import checks_of, untouched


def cell_of(notebook: NotebookNode, grade_id: str) -> NotebookNode:
    return next(cell for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("grade_id") == grade_id)


def test_a_released_exercise_keeps_its_contract_and_loses_its_answer(source: Path) -> None:
    cell = cell_of(build_release(source), "add")
    assert cell.source.startswith("# exercise: add\ndef add(first: int, second: int) -> int:\n")
    assert "Their sum." in cell.source
    assert cell.source.endswith("    # YOUR CODE HERE\n    raise NotImplementedError()")


def test_the_master_keeps_the_answer_and_can_be_edited(source: Path) -> None:
    master = build_master(source)
    assert "total_of_both = first + second + OFFSET" in cell_of(master, "add").source
    assert cell_of(master, "check_sum").metadata.get("editable", True)


@pytest.mark.parametrize("build", [build_master, build_release])
def test_nbgrader_accepts_metadata_and_checksums(source: Path, build) -> None:
    notebook = build(source)
    nbformat.validate(notebook)
    graded = [cell for cell in notebook.cells if "nbgrader" in cell.metadata]
    assert len(graded) == 1 + 4 + 5
    for cell in graded:
        assert cell.metadata.nbgrader.checksum == compute_checksum(cell)


def test_a_check_is_graded_locked_and_says_its_points(source: Path) -> None:
    cell = cell_of(build_release(source), "check_sum")
    meta = cell.metadata.nbgrader
    assert (meta.grade, meta.solution, meta.locked, meta.points) == (True, False, True, 2)
    assert cell.metadata.editable is False
    assert cell.source == "# check: check_sum (2 points)\ncheck_sum(add)"
    assert cell_of(build_release(source), "check_double").source.startswith("# check: check_double (1 point)\n")


def test_a_given_cell_is_read_only(source: Path) -> None:
    given = [
        c for c in build_release(source).cells if c.metadata.get("nbgrader", {}).get("grade_id", "").startswith("given")
    ]
    assert [c.metadata.editable for c in given] == [False]
    assert (given[0].metadata.nbgrader.grade, given[0].metadata.nbgrader.locked) == (False, True)


def test_the_header_opens_colab_and_installs_nothing_but_the_package(
    source: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    badge, set_up = build_release(source).cells[:2]
    assert badge.cell_type == "markdown"
    assert badge.source.startswith("[![Open in Colab](")
    assert "github/someone/course/blob/main/course/07_sums.ipynb" in badge.source
    assert set_up.source.count('"pip", "install"') == 1
    assert "git+https://github.com/someone/course@main" in set_up.source
    exec(set_up.source, {})
    assert capfd.readouterr() == ("", "")


def test_what_is_folded_is_markdown(source: Path) -> None:
    fold = "# <details><summary>Why `add`?</summary>\n# See `double` in [the docs][docs].\n# </details>\n#\n# [docs]: https://x.org"
    source.write_text(toy.LESSON.replace("# You will", f"{fold}\n#\n# You will"))
    (cell,) = [cell for cell in build_release(source).cells if "Why" in cell.source]
    html = MarkdownIt().render(cell.source)
    assert "<summary>Why <code>add</code>?</summary>" in html
    assert '<p>See <code>double</code> in <a href="https://x.org">the docs</a>.</p>\n</details>' in html


def test_a_notebook_has_no_outputs_and_no_leftover_metadata(source: Path) -> None:
    notebook = build_release(source)
    for cell in notebook.cells:
        assert set(cell.metadata) <= {"nbgrader", "deletable", "editable", "tags"}
        if cell.cell_type == "code":
            assert (cell.outputs, cell.execution_count) == ([], None)
    assert set(notebook.metadata) == {"kernelspec", "language_info"}


def test_a_cell_inserted_renames_no_other(source: Path) -> None:
    before = [cell.id for cell in build_release(source).cells]
    source.write_text(source.read_text().replace("# %%\nlook", "# %% [markdown]\n# Look.\n\n# %%\nlook"))
    after = [cell.id for cell in build_release(source).cells]
    assert [cell_id for cell_id in after if cell_id in before] == before
    assert len(after) == len(before) + 1


def test_equal_cells_get_different_ids(source: Path) -> None:
    source.write_text(
        source.read_text().replace("# %%\nlook(add, 3, 4)", "# %%\nlook(add, 3, 4)\n\n# %%\nlook(add, 3, 4)")
    )
    ids = [cell.id for cell in build_release(source).cells]
    assert len(set(ids)) == len(ids)


def test_the_same_source_gives_the_same_bytes(source: Path) -> None:
    assert notebook_text(build_release(source)) == notebook_text(build_release(source))


def test_the_release_is_what_nbgrader_generates_from_the_master(source: Path) -> None:
    from nbgrader.preprocessors import ClearOutput, ClearSolutions, ComputeChecksums, LockCells

    generated = build_master(source)
    for preprocessor in (LockCells(), ClearSolutions(), ClearOutput(), ComputeChecksums()):
        generated, _ = preprocessor.preprocess(generated, {})
    assert json.loads(notebook_text(generated)) == json.loads(notebook_text(build_release(source)))


def test_points_tell_core_from_further(source: Path) -> None:
    points = lesson_points(source)
    assert points[0] == {"check": "check_sum", "exercise": "add", "points": 2, "is_further": False}
    assert [entry["check"] for entry in points if entry["is_further"]] == ["check_last"]
    assert len(points) == toy.LESSON.count("check=")


def test_a_check_keeps_the_tag_that_it_needs_a_loopback(source: Path) -> None:
    key = 'check="check_last" points=3'
    source.write_text(source.read_text().replace(key, f'{key} tags=["needs-loopback"]'))
    master = build_master(source)
    (tagged,) = [cell for cell in master.cells if "needs-loopback" in cell.metadata.get("tags", [])]
    assert tagged.metadata.nbgrader.grade_id == "check_last"
    assert [check.name for check in checks_of(align(untouched(master), []).notebook) if check.needs_loopback] == [
        "check_last"
    ]

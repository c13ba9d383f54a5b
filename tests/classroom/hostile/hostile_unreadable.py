"""Submissions that are no notebook, or a damaged, foreign or strange one."""

from __future__ import annotations

import copy
import io
import json
import os
import pickle
import zipfile

import nbformat
from hostile_case import FULL, NOTHING, Room, case
from hostile_lesson import LESSON
from nbformat.notebooknode import NotebookNode
from small_course import cell_of, from_colab

UNREADABLE = "unreadable"


@case("", FULL, silent=True)
def an_honest_notebook(room: Room) -> NotebookNode:
    return room.solved()


@case("", NOTHING)
def an_untouched_notebook(room: Room) -> NotebookNode:
    return room.release


@case("15", NOTHING, status=UNREADABLE, reason="is a link")
def a_link_to_a_file_of_the_machine(room: Room) -> None:
    path = room.hand_in("")
    path.unlink()
    outside = room.folder.parent / "outside.ipynb"
    outside.write_text(nbformat.writes(room.solved()))
    path.symlink_to(outside)


@case("15", NOTHING, status=UNREADABLE, reason="is a link")
def a_folder_that_is_a_link(room: Room) -> None:
    folder = room.folder / "submitted" / room.student
    folder.mkdir(parents=True)
    (folder / LESSON).symlink_to(room.folder / "source" / LESSON)


@case("16", FULL, reason="the cell is there 2 times")
def a_check_is_copied(room: Room) -> NotebookNode:
    notebook = room.solved()
    notebook.cells += [copy.deepcopy(cell_of(notebook, name)) for name in ("check_double", "double")]
    return notebook


@case("", FULL)
def copies_that_are_no_answers_stand_below_the_answers(room: Room) -> NotebookNode:
    notebook = room.solved()
    for name, source in (("double", cell_of(room.release, "double").source), ("halve", "")):
        below = copy.deepcopy(cell_of(notebook, name))
        below.source = source
        notebook.cells.insert(notebook.cells.index(cell_of(notebook, name)) + 1, below)
    return notebook


@case("18", FULL, reason="the cell was gone")
def a_check_is_deleted(room: Room) -> NotebookNode:
    notebook = room.solved()
    notebook.cells.remove(cell_of(notebook, "check_double"))
    notebook.cells.remove(cell_of(notebook, "given_imports"))
    return notebook


@case("19", FULL)
def all_metadata_is_lost(room: Room) -> NotebookNode:
    return from_colab(room.solved())


@case("", (2, 0, 4, 1), verdicts={2: "missing"}, reason="double: its cell is missing")
def an_answer_is_deleted(room: Room) -> NotebookNode:
    notebook = room.solved()
    notebook.cells.remove(cell_of(notebook, "double"))
    return notebook


@case("33", NOTHING, status=UNREADABLE, reason="stops in the middle")
def a_notebook_that_was_cut_off(room: Room) -> None:
    text = nbformat.writes(room.solved())
    room.hand_in(text[: len(text) // 2])


@case("33", NOTHING, status=UNREADABLE, reason="is empty")
def an_empty_file(room: Room) -> None:
    room.hand_in("")


@case("33", NOTHING, status=UNREADABLE, reason="conflict mark of git")
def an_unfinished_merge(room: Room) -> None:
    room.hand_in(nbformat.writes(room.solved()).replace(' "cells"', '<<<<<<< HEAD\n "cells"', 1))


@case("34", FULL, silent=True)
def a_notebook_of_another_kernel(room: Room) -> NotebookNode:
    notebook = room.solved()
    notebook.metadata = nbformat.from_dict({"kernelspec": {"name": "julia-1.9", "display_name": "Julia"}})
    return notebook


@case("34", FULL, silent=True)
def a_notebook_of_no_kernel(room: Room) -> NotebookNode:
    notebook = room.solved()
    notebook.metadata = nbformat.from_dict({})
    return notebook


def packed(*names: str) -> bytes:
    """Return an archive of files that are much larger than it."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for name in names:
            file.writestr(name, bytes(32 << 20))
    return archive.getvalue()


@case("49", NOTHING, status=UNREADABLE, reason="unpack archives")
def an_archive_that_explodes(room: Room) -> None:
    room.hand_in(packed("bomb.ipynb"), "homework.zip")


@case("49", NOTHING, status=UNREADABLE, reason="unpack archives")
def an_archive_that_leaves_its_folder(room: Room) -> None:
    room.hand_in(packed("../../../escaped.ipynb"), "homework.zip")


@case("49", NOTHING, status=UNREADABLE, reason="perhaps an archive")
def an_archive_called_a_notebook(room: Room) -> None:
    room.hand_in(packed("bomb.ipynb"))


@case("49", NOTHING, status=UNREADABLE, reason="more than 64.0 MiB")
def a_notebook_of_five_gigabytes(room: Room) -> None:
    with room.hand_in("").open("r+b") as file:
        file.truncate(5 * 10**9)


@case("50", NOTHING, status=UNREADABLE, reason="not text")
def a_pickle(room: Room) -> None:
    room.hand_in(pickle.dumps(dict(room.solved())))


@case("50", FULL)
def a_notebook_with_keys_that_are_no_numbers(room: Room) -> None:
    room.hand_in(json.dumps({"NaN": float("nan"), "x" * 10**6: float("-inf"), **room.solved()}))


@case("50", NOTHING, status=UNREADABLE, reason="nested too deeply")
def a_nest_without_end(room: Room) -> None:
    room.hand_in('{"cells": ' + "[" * 200_000)


@case("50", NOTHING, status=UNREADABLE, reason="cells, more than")
def too_many_cells(room: Room) -> None:
    cell = {"cell_type": "code", "source": "x = 1", "metadata": {}, "outputs": [], "execution_count": None}
    room.hand_in(json.dumps({"cells": 6000 * [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))


@case("", NOTHING, status=UNREADABLE, reason="not a plain file")
def a_pipe(room: Room) -> None:
    path = room.hand_in("")
    path.unlink()
    os.mkfifo(path)


@case("", NOTHING, status=UNREADABLE, reason="the folder is empty")
def nothing_was_handed_in(room: Room) -> None:
    room.hand_in("").unlink()


@case("", NOTHING, status=UNREADABLE, reason="no cell")
def cells_that_are_no_cells(room: Room) -> None:
    room.hand_in('{"cells": [1, null, "x"], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}')


@case("", FULL)
def text_that_cannot_be_written(room: Room) -> None:
    notebook = json.loads(nbformat.writes(room.solved()))
    notebook["cells"].append({"cell_type": "code", "source": ["x = '\ud800 \u0000'", 7, None], "metadata": []})
    room.hand_in(json.dumps(notebook))


@case("", FULL)
def a_byte_order_mark(room: Room) -> None:
    room.hand_in(b"\xef\xbb\xbf" + nbformat.writes(room.solved()).encode())


@case("", FULL)
def a_name_that_a_browser_gives(room: Room) -> None:
    room.hand_in(nbformat.writes(room.solved()), f"{LESSON} (1).ipynb.txt")

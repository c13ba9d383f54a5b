"""Show a learner that a long cell still runs, and for how long it has run."""

from __future__ import annotations

import contextvars
import threading
import time
from typing import Any

FIRST_SECONDS, NEXT_SECONDS = 2.0, 1.0
OF_CHECKS = "# check:"  # checks answer by themselves


def watch_cells() -> None:
    """Say below each cell that takes longer than two seconds how long it has run; nothing stays when it ends.

    It does so in a kernel with a person before it: JupyterLab, Colab, VS Code. Elsewhere, where a notebook is executed
    for its outputs or its marks, nobody can be asked anything (`allow_stdin`), and nothing is shown.
    """
    try:
        from IPython.core.getipython import get_ipython
    except ImportError:
        return
    shell = get_ipython()
    kernel = getattr(shell, "kernel", None)
    if kernel is None:
        return
    note = _Note(kernel)
    shell.events.register("pre_run_cell", note.begin)
    shell.events.register("post_run_cell", note.end)
    note.begin(None)  # for the cell that imports the course


class _Note:
    """A line below the cell that runs."""

    def __init__(self, kernel: Any):
        self._kernel = kernel
        self._is_over = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self, info: Any) -> None:
        self.end(None)
        source = getattr(info, "raw_cell", None) or ""
        if not getattr(self._kernel, "_allow_stdin", False) or source.startswith(OF_CHECKS):
            return
        self._is_over = threading.Event()
        context = contextvars.copy_context()  # what is shown belongs to this cell
        self._thread = threading.Thread(
            target=context.run, args=(_show, self._is_over), name="still running", daemon=True
        )
        self._thread.start()

    def end(self, _: Any) -> None:
        self._is_over.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None


def _show(is_over: threading.Event) -> None:
    began = time.monotonic()
    if is_over.wait(FIRST_SECONDS):
        return
    from IPython.display import DisplayHandle

    handle = DisplayHandle()
    handle.display({"text/plain": _line(began)}, raw=True)
    while not is_over.wait(NEXT_SECONDS):
        handle.update({"text/plain": _line(began)}, raw=True)
    handle.update({"text/plain": ""}, raw=True)


def _line(began: float) -> str:
    return f"running for {time.monotonic() - began:.0f} s"

"""Keeps what libraries write to stderr out of a check's output."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator


@contextlib.contextmanager
def quiet_stderr() -> Iterator[None]:
    """Swallow stderr of Python and of native libraries, warnings, and progress bars.

    nbgrader scores a cell that wrote to stderr 0, whatever it computed. When the block raises, what was swallowed is
    still dropped: the exception says what the learner needs.
    """
    saved = os.dup(2)
    with tempfile.TemporaryFile() as sink, _quiet_loggers(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sys.stderr.flush()
        os.dup2(sink.fileno(), 2)
        try:
            with contextlib.redirect_stderr(io.StringIO()):
                yield
        finally:
            os.dup2(saved, 2)
            os.close(saved)


@contextlib.contextmanager
def _quiet_loggers() -> Iterator[None]:
    previous = logging.root.manager.disable
    logging.disable(logging.CRITICAL)  # handlers write to the stderr that they were made with
    try:
        yield
    finally:
        logging.disable(previous)

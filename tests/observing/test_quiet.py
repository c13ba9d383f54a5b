from __future__ import annotations

import logging
import os
import subprocess
import sys
import warnings

import pytest

from grader.observing.quiet import quiet_stderr

WRITERS = {
    "print": lambda: print("noise", file=sys.stderr),
    "file descriptor": lambda: os.write(2, b"noise\n"),
    "child process": lambda: subprocess.run([sys.executable, "-c", "import os; os.write(2, b'noise')"], check=True),
    "warning": lambda: warnings.warn("noise", stacklevel=1),
    "logger": lambda: logging.getLogger("transformers.trainer").error("noise"),
}


@pytest.fixture
def early_handler():
    """A handler that holds the stderr of before, as a library imported earlier does."""
    handler = logging.StreamHandler(sys.stderr)
    logging.getLogger().addHandler(handler)
    yield
    logging.getLogger().removeHandler(handler)


@pytest.mark.parametrize("writer", WRITERS)
def test_nothing_that_a_library_writes_reaches_stderr(writer: str, capfd, early_handler) -> None:
    with quiet_stderr():
        WRITERS[writer]()
    assert capfd.readouterr().err == ""


def test_stderr_loggers_and_warnings_are_as_before_after_an_exception(capfd) -> None:
    with pytest.raises(KeyError), quiet_stderr():
        os.write(2, b"noise")
        raise KeyError
    os.write(2, b"heard\n")
    print("also heard", file=sys.stderr)
    assert capfd.readouterr().err == "heard\nalso heard\n"
    assert logging.root.manager.disable == logging.NOTSET
    with pytest.warns(UserWarning, match="still a warning"):
        warnings.warn("still a warning", stacklevel=1)


def test_what_is_printed_is_kept(capfd) -> None:
    with quiet_stderr():
        print("the learner's own line")
    assert capfd.readouterr().out == "the learner's own line\n"

"""A long cell says that it still runs, where somebody can read it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import start_new_kernel

pytestmark = pytest.mark.slow
LONG = "import time; time.sleep(3.3); print('done')"


@pytest.fixture(scope="module")
def kernel() -> Iterator[BlockingKernelClient]:
    manager, client = start_new_kernel(kernel_name="python3", extra_arguments=["--log-level=ERROR"])
    yield client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def shown(client: BlockingKernelClient, code: str, *, has_person: bool) -> list[str]:
    """Run a cell; return what was shown below it, each change in turn."""
    texts: list[str] = []

    def note(message: dict) -> None:
        if message["msg_type"] in ("display_data", "update_display_data"):
            texts.append(message["content"]["data"]["text/plain"])
        if message["msg_type"] == "stream":
            texts.append(message["content"]["text"])
        assert message["msg_type"] != "error", message["content"]

    client.execute_interactive(code, allow_stdin=has_person, output_hook=note, timeout=60)
    return texts


def test_a_long_cell_tells_its_seconds_and_leaves_nothing(kernel: BlockingKernelClient) -> None:
    assert shown(kernel, "from grader import MIB", has_person=True) == []
    assert shown(kernel, LONG, has_person=True) == ["running for 2 s", "running for 3 s", "done\n", ""]
    assert shown(kernel, "print(1)", has_person=True) == ["1\n"]


def test_nothing_is_shown_in_a_check_or_where_nobody_reads(kernel: BlockingKernelClient) -> None:
    shown(kernel, "from grader import MIB", has_person=True)
    assert shown(kernel, f"# check: check_it (1 point)\n{LONG}", has_person=True) == ["done\n"]
    assert shown(kernel, LONG, has_person=False) == ["done\n"]


def test_a_cell_that_fails_ends_its_line_too(kernel: BlockingKernelClient) -> None:
    shown(kernel, "from grader import MIB", has_person=True)
    code = f"try:\n    {LONG}; 1 / 0\nexcept ZeroDivisionError:\n    pass"
    assert shown(kernel, code, has_person=True)[-1] == ""

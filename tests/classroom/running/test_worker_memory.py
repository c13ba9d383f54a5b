"""A process that talks to a kernel is bound in its memory, and the kernels that it starts are not."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the system says there what a process holds")
GROW = """\
from grader.classroom.running.worker_memory import bound_memory, free_memory
bound_memory()
kept = bytearray(1 << 30)
try:
    bytearray(3 << 29)
    raise SystemExit("not bound")
except MemoryError:
    free_memory()
bytearray(3 << 29)
print("bound while it was asked for")
"""
START = """\
import resource, subprocess, sys
from grader.classroom.running.worker_memory import bound_memory, free_memory
before = resource.getrlimit(resource.RLIMIT_DATA)
bound_memory()
assert resource.getrlimit(resource.RLIMIT_DATA) != before
free_memory()
ask = "import resource; print(resource.getrlimit(resource.RLIMIT_DATA))"
assert subprocess.check_output([sys.executable, "-c", ask], text=True).strip() == str(before)
"""


@pytest.mark.parametrize("script", [GROW, START])
def test_memory_is_bound_between_the_starts_of_kernels(script: str) -> None:
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr

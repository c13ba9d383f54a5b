"""A class that is killed in the middle has every row once when it is graded again, and nothing grows or stays."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc and adopts processes, as on Linux"),
]


@pytest.mark.turns(3)
def test_a_class_survives_a_kill_and_leaves_nothing_behind() -> None:
    command = [sys.executable, str(ROOT / "benchmarks" / "class_soak.py"), "--submissions", "20", "--jobs", "2"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert done.stdout.splitlines()[-1] == "soak passed"

"""nbgrader's own tests of `autograde` and `validate`, on its own kernels and on forked ones, test by test.

Run: python benchmarks/upstream_suites.py [--keep FOLDER]

Each suite runs once for each provisioner, chosen by JUPYTER_DEFAULT_PROVISIONER_NAME. Exit status 0 if every test ends
alike on both. What else the tests need is installed once, into a venv of its own that finds everything else
here. About ten minutes.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
import venv
from collections import Counter
from pathlib import Path

SUITES = ("nbgrader.tests.apps.test_nbgrader_autograde", "nbgrader.tests.apps.test_nbgrader_validate")
NEEDED = ("pytest-rerunfailures", "requests-mock", "pytest-jupyter")
STOCK, FORKED = "local-provisioner", "lean-training-fork"
OUTCOME = re.compile(r"^(PASSED|FAILED|ERROR|XFAIL|XPASS) (?:\S*/)?(\S+)|^SKIPPED \[(\d+)\] (?:\S*/)?(\S+:\d+): ")
ROOT = Path(__file__).resolve().parents[1]


def make_environment(folder: Path) -> Path:
    """Make a venv with what the tests need, unless it stands; return its Python."""
    python, mark = folder / "bin" / "python", folder / "complete"
    if not mark.exists():
        print(f"once: a venv in {folder}", flush=True)
        venv.create(folder, with_pip=True, clear=True)
        here = [sysconfig.get_path("purelib", vars={"base": str(folder)}), sysconfig.get_path("purelib")]
        Path(here[0], "project.pth").write_text(here[1] + "\n")
        constraints = str(ROOT / "constraints.txt")
        subprocess.run([str(python), "-m", "pip", "install", "-q", "-c", constraints, *NEEDED], check=True)
        mark.write_text(" ".join(NEEDED))
    return python


def run_suites(python: Path, provisioner: str) -> dict[str, str]:
    """Run the suites with kernels of one provisioner; return how each test ended."""
    environment = os.environ | {"JUPYTER_DEFAULT_PROVISIONER_NAME": provisioner, "PYTHONPATH": str(ROOT)}
    environment["PATH"] = os.pathsep.join([str(python.parent), sysconfig.get_path("scripts"), os.environ["PATH"]])
    command = [str(python), "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", "--pyargs", *SUITES]
    with tempfile.TemporaryDirectory() as folder:  # away from this project's pytest settings
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    outcomes = {}
    for line in done.stdout.splitlines():
        if found := OUTCOME.match(line):
            outcomes[found[2] or found[4]] = found[1] or "SKIPPED"
    if not outcomes:
        raise SystemExit(f"no test ran:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return outcomes


def main() -> None:
    """Run both, print the counts and each difference."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = Path.home() / ".cache" / "lean-training" / f"upstream-{sys.version_info[0]}.{sys.version_info[1]}"
    parser.add_argument("--keep", type=Path, default=default, metavar="FOLDER", help="where the venv is kept")
    python = make_environment(parser.parse_args().keep)
    outcomes = {name: run_suites(python, name) for name in (STOCK, FORKED)}
    for name, ended in outcomes.items():
        counts = ", ".join(f"{count} {outcome.lower()}" for outcome, count in sorted(Counter(ended.values()).items()))
        print(f"{name:<20} {counts}")
    differences = [
        f"{test}: {outcomes[STOCK].get(test)} on {STOCK}, {outcomes[FORKED].get(test)} on {FORKED}"
        for test in sorted(outcomes[STOCK] | outcomes[FORKED])
        if outcomes[STOCK].get(test) != outcomes[FORKED].get(test)
    ]
    print("\n".join(differences) or "every test ends alike")
    raise SystemExit(bool(differences))


if __name__ == "__main__":
    main()

"""Run every check of one lesson on the pretended device, with the solution as the answer; print one JSON line a check.

    run_lesson.py solutions/02_gradient_accumulation.py SEED...

`PRETEND=0` takes the device that is here instead.
"""

from __future__ import annotations

import contextlib
import io
import json
import linecache
import os
import re
import sys
import tempfile
import time
import types
import warnings
from pathlib import Path
from typing import Any, NamedTuple

if os.environ.get("PRETEND", "1") == "1":
    import pretend_device

    if Path(sys.argv[1]).name.startswith("08"):
        pretend_device.install_bitsandbytes()

import torch

import grader
from grader.observing.default_settings import default_settings
from grader.observing.door import ask_judge
from grader.observing.quiet import quiet_stderr


class Cell(NamedTuple):
    head: str
    first_line: int
    lines: list[str]


def cells_of(text: str) -> list[Cell]:
    cells: list[Cell] = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("# %%"):
            cells.append(Cell(line, number + 1, []))
        elif cells:
            cells[-1].lines.append(line)
    return [cell for cell in cells if "[markdown]" not in cell.head]


def checks_in(cells: list[Cell]) -> list[tuple[str, str]]:
    found = (re.match(r"(check_\w+)\((\w+)\)", line) for cell in cells if 'check="' in cell.head for line in cell.lines)
    return [(match[1], match[2]) for match in found if match]


def defined_by(path: Path, cells: list[Cell]) -> dict[str, Any]:
    """Run what defines the answers: given cells, exercises, and the imports and constants of the others."""
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    for cell in cells:
        is_whole = "given" in cell.head or "exercise" in cell.head
        lines = cell.lines if is_whole else [line for line in cell.lines if re.match(r"(from|import) ", line)]
        if 'check="' in cell.head:
            continue
        source = "\n" * (cell.first_line - 1) + "\n".join(lines) + "\n"
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(source, str(path), "exec"), vars(main))
    return vars(main)


def said(check: str, answer: Any, seed: int) -> str:
    """Return the verdict's code and measurement, or the exception."""
    try:
        with contextlib.redirect_stdout(io.StringIO()), quiet_stderr(), default_settings():
            observation = getattr(grader, check).__wrapped__(answer, seed)
            verdict = ask_judge(check, observation, seed)
        return f"{verdict.code}: {verdict.measured[:200]}"
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:300]}"


def main() -> None:
    path, seeds = Path(sys.argv[1]).resolve(), [int(seed) for seed in sys.argv[2:]]
    text = path.read_text()
    linecache.cache[str(path)] = (len(text), None, text.splitlines(keepends=True), str(path))
    os.chdir(tempfile.mkdtemp())
    torch.set_num_threads(1)
    if "PRETEND_TF32" in os.environ:
        torch.set_float32_matmul_precision("high")
    warnings.simplefilter("ignore")
    cells = cells_of(text)
    space = defined_by(path, cells)
    for check, answer in checks_in(cells):
        for seed in seeds:
            started = time.perf_counter()
            line = {"check": check, "seed": seed, "said": said(check, space[answer], seed)}
            print(json.dumps(line | {"seconds": round(time.perf_counter() - started, 1)}), flush=True)
    sys.stdout.flush()
    os._exit(0)  # the pretended device has no orderly end


if __name__ == "__main__":
    main()

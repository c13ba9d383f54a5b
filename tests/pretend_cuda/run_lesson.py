"""Run every check of one lesson on the pretended device; print one JSON line for each answer.

    run_lesson.py solutions/02_gradient_accumulation.py SEED...

The answer is the solution. With `ANSWERS=wrong` it is also each exercise untouched, and one wrong answer of its bank:
such a line says "passed" if the answer failed as it should. `PRETEND=0` takes the device that is here instead.
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
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

if os.environ.get("PRETEND", "1") == "1":
    if Path(sys.argv[1]).name.startswith(("21", "23")):  # without CUDA's own, 4-bit kernels are compiled torch
        os.environ["TORCHDYNAMO_DISABLE"] = "1"
    import pretend_device

    if Path(sys.argv[1]).name.startswith(("08", "21", "23")):
        pretend_device.install_bitsandbytes()

import torch

import grader
from grader.authoring.banks import WRONG, read_banks
from grader.authoring.lesson import read_lesson
from grader.authoring.notebook import stub_source
from grader.observing.accelerate_state import own_accelerate_state
from grader.observing.default_settings import default_settings
from grader.observing.door import ask_judge
from grader.observing.quiet import quiet_stderr
from grader.verdict import CheckFailed


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
        with contextlib.redirect_stdout(io.StringIO()), quiet_stderr(), default_settings(), own_accelerate_state():
            observation = getattr(grader, check).__wrapped__(answer, seed)
            verdict = ask_judge(check, observation, seed)
        return f"{verdict.code}: {verdict.measured[:200]}"
    except CheckFailed as error:
        return f"{error.code}: {error.measured[:200]}"
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:300]}"


def wrong_answers(path: Path) -> Iterator[tuple[str, str, str, str]]:
    """Yield exercise, name, source and declared code: of the stub and of one wrong answer each."""
    lesson = read_lesson(path)
    for bank in read_banks(path.parents[1], lesson):
        wrong = [entry for entry in bank.entries if entry.kind == WRONG and entry.seed is None]
        if not wrong:
            continue  # a bank of right answers
        yield bank.exercise, "untouched", stub_source(lesson.cell_of(bank.exercise).source), ""
        chosen = wrong[sum(map(ord, bank.exercise)) % len(wrong)]
        yield bank.exercise, chosen.name, chosen.source, chosen.code


def said_of_wrong(checks: list[str], exercise: str, name: str, source: str, code: str, space: dict[str, Any]) -> str:
    """Return "passed", or why the wrong answer did not fail as it should."""
    file = f"<{exercise}, {name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    kept = dict(space)
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(source, file, "exec"), space)
    told = [said(check, space[exercise], 0) for check in checks]
    space.clear()
    space.update(kept)
    failures = [text.partition(":")[0] for text in told if not text.startswith("passed")]
    if not code:
        return "passed" if len(failures) == len(told) else f"the stub passes: {told}"
    if not failures:
        return "the wrong answer passes"
    return "passed" if failures[0] == code else f"reported as {failures[0]}, declared {code}"


def said_of_meter() -> str:
    """Return "passed" if the meter counts what a tensor asks for, and not the blocks that the allocator cuts for it."""
    asked = 11_744_052  # bytes, 11.2 MiB: the allocator holds 12 MiB for it
    peak = grader.measure_peak_memory(lambda: torch.empty(asked, dtype=torch.uint8, device="cuda"))
    return "passed" if peak.peak_bytes == asked else f"a tensor of {asked} bytes is measured as {peak.peak_bytes}"


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
    if os.environ.get("ANSWERS") == "wrong":
        for exercise, name, source, code in wrong_answers(path):
            started = time.perf_counter()
            checks = [check for check, answer in checks_in(cells) if answer == exercise]
            verdict = said_of_wrong(checks, exercise, name, source, code, space)
            line = {"check": f"{exercise}, {name}", "seed": 0, "said": verdict}
            print(json.dumps(line | {"seconds": round(time.perf_counter() - started, 1)}), flush=True)
    if path.name.startswith("01") and os.environ.get("PRETEND", "1") == "1":
        print(json.dumps({"check": "measure_peak_memory", "seed": 0, "said": said_of_meter(), "seconds": 0.0}))
    sys.stdout.flush()
    os._exit(0)  # the pretended device has no orderly end


if __name__ == "__main__":
    main()

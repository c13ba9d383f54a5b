"""What to run on the first real device: its facts, every check at four seeds, forecast peaks, a class, all lessons.

A section that raises is recorded, and the next one runs. What is done is kept after each section: a second call goes on
where the first one ended. Results go to `solutions/measured/<device>.json` and `.md`. On a pretended device nothing is
written there: its figures are no measurements, and what needs a driver is left out with the reason. The executed
lessons are kept in `build/first_gpu_day/`.

Run: python benchmarks/first_gpu_day.py [NN ...]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

if "PRETEND_LIBRARY" in os.environ:
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/pretend_cuda"))
    import pretend_device

    pretend_device.install_bitsandbytes()

import nbformat
import torch
from torch import nn

from grader import bert_large_recipe, device_facts, forecast_peak_memory, lesson_device, measure_peak_memory, run_ranks
from grader.authoring.executed import disturbances, earned_points, execute
from grader.authoring.lesson import build_master
from grader.classroom.base.errors import ClassroomError
from grader.classroom.jobs.job import Job, run_job
from grader.classroom.sandbox.confinement import LADDER
from grader.device import device_name
from grader.judging.lessons.adam_8bit.cuda_kernel import replay_on
from grader.observing.default_settings import default_settings
from grader.testbed.bert_large_recipes import BERT_LARGE_ROWS
from grader.testbed.eight_bit_manager import fresh_optimizer_manager
from grader.units import GIB, MIB, format_bytes

ROOT = Path(__file__).resolve().parents[1]
PRETENDED = "PRETEND_LIBRARY" in os.environ
SEEDS = ("0", "1", "2", "3")
LESSON_SECONDS = 1800
FREE_BYTES = 15 * GIB  # a recipe of BERT-large holds up to 13.3 GiB


def facts() -> dict[str, Any]:
    """Return the device as PyTorch and `nvidia-smi` see it."""
    smi: str | None = None
    if not PRETENDED:
        query = ["nvidia-smi", "--query-gpu=name,memory.used,memory.total,driver_version", "--format=csv"]
        smi = subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip()
    return {"facts": repr(device_facts()), "nvidia_smi": smi, "capability": torch.cuda.get_device_capability()}


def checks_of(lesson: Path) -> dict[str, Any]:
    """Run each check of a lesson with its solution at four seeds, in a process of its own."""
    runner = ROOT / "tests/pretend_cuda/run_lesson.py"
    environment = os.environ | {"PRETEND": str(int(PRETENDED)), "LEAN_TRAINING_ATTEMPTS": "off"}
    command = [sys.executable, str(runner), str(lesson), *SEEDS]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LESSON_SECONDS)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"check"')]
    if done.returncode or not lines:
        raise RuntimeError(f"exit {done.returncode}: {done.stderr.strip()[-500:]}")
    failed = [line for line in lines if not line["said"].startswith("passed")]
    return {"runs": len(lines), "failed": failed, "seconds": round(sum(line["seconds"] for line in lines), 1)}


def _job(device: str) -> dict[str, Any]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(1024, 4096), nn.GELU(), nn.Linear(4096, 1024)).to(device)
    optimizer = torch.optim.AdamW(model.parameters())
    inputs = torch.randn(512, 1024).to(device)

    def step() -> None:
        model(inputs).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()

    return {"step": step, "model": model, "optimizer": optimizer, "inputs": inputs}


def peaks() -> dict[str, int]:
    """Return one step's peak: forecast, by the meter (requested), and by the allocator (allocated)."""
    forecast = forecast_peak_memory(lambda: _job("cpu"))
    job = _job("cuda")
    measured = measure_peak_memory(**job)
    torch.cuda.reset_peak_memory_stats()
    entry_bytes = torch.cuda.memory_allocated()
    job["step"]()
    allocated = measured.entry_bytes + torch.cuda.max_memory_allocated() - entry_bytes
    found = {"forecast": forecast.peak_bytes, "requested": measured.peak_bytes, "allocated": allocated}
    return found | {"reserved": torch.cuda.max_memory_reserved()}


def recipe_peaks(row: str) -> dict[str, float | str]:
    """Return the peak of BERT-large by one published recipe, in MiB: forecast, and measured where 16 GB are free."""
    found: dict[str, float | str] = {"published less context": BERT_LARGE_ROWS[row].less_context_mib}
    found["forecast"] = forecast_peak_memory(bert_large_recipe(row)).peak_bytes / MIB
    free_bytes, _ = torch.cuda.mem_get_info()
    if PRETENDED or free_bytes < FREE_BYTES:
        return found | {"measured": f"left out: {'pretended' if PRETENDED else format_bytes(free_bytes) + ' free'}"}
    with torch.device("cuda"):
        job = bert_large_recipe(row)()
    found["measured"] = measure_peak_memory(**job).peak_bytes / MIB
    del job
    torch.cuda.empty_cache()
    return found


def eight_bit_codes() -> dict[str, Any]:
    """Compare five updates of bitsandbytes' kernel with the emulation that the judge of lesson 08 replays."""
    import bitsandbytes

    def updated(device: str) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        draw = torch.Generator().manual_seed(0)
        weight = nn.Parameter(torch.randn(64 * 256, generator=draw).to(device))
        optimizer = bitsandbytes.optim.Adam8bit([weight])
        for _ in range(5):
            weight.grad = torch.randn(64 * 256, generator=draw).to(device)
            optimizer.step()
        state = {name: optimizer.state[weight][name].cpu() for name in ("state1", "state2")}
        return weight.detach().cpu(), state

    with fresh_optimizer_manager():
        kernel, codes = updated("cuda")
    with replay_on("cuda"):
        emulated, expected = updated("cpu")
    differing = {name: int((codes[name] != expected[name]).sum()) for name in codes}
    return {"codes that differ, of 16384": differing, "largest weight apart": float((kernel - emulated).abs().max())}


def ranks() -> dict[str, Any]:
    """Run four ranks next to a process that holds the device, and say what each sees of it."""
    torch.zeros(1, device="cuda")
    return {"sums": run_ranks(_sum_over_ranks, 4).returned}


def _sum_over_ranks(rank: int) -> tuple[float, bool]:
    import torch
    import torch.distributed as dist

    total = torch.tensor([float(rank)])
    dist.all_reduce(total)
    return float(total), torch.cuda.is_available()


def sandboxes() -> dict[str, str]:
    """Return for each level of the sandbox what a kernel of a class sees of the device."""
    if PRETENDED:
        return {"left out": "a kernel of its own sees no pretended device"}
    source = "import torch\nprint(torch.cuda.is_available(), float(torch.ones(3, device='cuda').sum()))"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    found = {}
    for level in LADDER:
        try:
            cell = run_job(Job(nbformat.writes(notebook), "02_gradient_accumulation", 10**9, sandbox=level)).cells[0]
            found[level] = f"{cell.state}: {cell.outputs}"[:300]
        except ClassroomError as error:
            found[level] = str(error).splitlines()[0]
    return found


def two_devices() -> dict[str, Any]:
    """Run lesson 02 where two devices are visible."""
    if torch.cuda.device_count() < 2:
        return {"left out": f"{torch.cuda.device_count()} device"}
    return checks_of(ROOT / "solutions/02_gradient_accumulation.py")


def executed_lesson(lesson: Path) -> dict[str, Any]:
    """Execute a solved lesson in a kernel, and keep the notebook with its outputs."""
    if PRETENDED:
        return {"left out": "a kernel of its own sees no pretended device"}
    executed = execute(build_master(lesson))
    folder = ROOT / "build/first_gpu_day"
    folder.mkdir(parents=True, exist_ok=True)
    nbformat.write(executed.notebook, folder / f"{lesson.stem}.ipynb")
    points = sum(earned_points(executed.notebook).values())
    faults = [
        f"cell {found.cell_index + 1}: {found.name}: {found.text[:200]}" for found in disturbances(executed.notebook)
    ]
    return {"points": points, "seconds": round(executed.seconds, 1), "faults": faults}


def gradient_distances() -> dict[str, float]:
    """Return how far gradients on CUDA are from the CPU's, relative to their norm, with and without tf32."""
    expected = _gradient("cpu")
    with default_settings():
        plain = _gradient("cuda")
    kept = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        with_tf32 = _gradient("cuda")
    finally:
        torch.set_float32_matmul_precision(kept)
    found = {"float32": plain, "tf32": with_tf32}
    return {name: float((value - expected).norm() / expected.norm()) for name, value in found.items()}


def _gradient(device: str) -> torch.Tensor:
    job = _job(device)
    job["model"](job["inputs"]).square().mean().backward()
    return torch.cat([parameter.grad.flatten().cpu() for parameter in job["model"].parameters()])


def record(sections: dict[str, Callable[[], Any]], file: Path) -> dict[str, Any]:
    """Run the sections that the file lacks; keep the file after each."""
    done: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    for name, section in sections.items():
        if name in done and "raised" not in done[name]:
            continue
        try:
            done[name] = {"result": section()}
        except Exception as error:
            done[name] = {"raised": f"{type(error).__name__}: {error}"}
        print(name, json.dumps(done[name])[:300], flush=True)
        unfinished = file.with_suffix(".part")
        unfinished.write_text(json.dumps(done, indent=1) + "\n")
        unfinished.replace(file)
    return done


def table(done: dict[str, Any]) -> str:
    """Return the results as a Markdown table."""
    rows = [f"| {name} | {json.dumps(found)[:400].replace('|', '/')} |" for name, found in done.items()]
    return "\n".join(["| section | result |", "|---|---|", *rows]) + "\n"


def main() -> None:
    """Run the sections for the lessons named by number, or for all."""
    if lesson_device().type != "cuda":
        sys.exit("first_gpu_day needs a CUDA device, and PyTorch sees none")
    lessons = sorted((ROOT / "solutions").glob("[0-9]*.py"))
    chosen = tuple(sys.argv[1:]) or ("",)
    sections: dict[str, Callable[[], Any]] = {
        "facts": facts,
        "peaks": peaks,
        "gradients": gradient_distances,
        "8-bit codes": eight_bit_codes,
        "ranks": ranks,
        "sandboxes": sandboxes,
        "two devices": two_devices,
    }
    for row in BERT_LARGE_ROWS:
        sections[f"BERT-large: {row}"] = lambda row=row: recipe_peaks(row)
    for lesson in lessons:
        if lesson.name.startswith(chosen):
            sections[f"checks of {lesson.stem}"] = lambda lesson=lesson: checks_of(lesson)
            sections[f"{lesson.stem} in a kernel"] = lambda lesson=lesson: executed_lesson(lesson)
    folder = Path(tempfile.mkdtemp(prefix="pretended-")) if PRETENDED else ROOT / "solutions/measured"
    folder.mkdir(exist_ok=True)
    file = folder / f"{device_name().lower().replace(' ', '-')}.json"
    done = record(sections, file)
    file.with_suffix(".md").write_text(table(done))
    print(f"{'pretended, no measurement' if PRETENDED else 'measured'}: {file}")


if __name__ == "__main__":
    main()

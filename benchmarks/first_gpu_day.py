"""What to run on the first real device: facts, every check at four seeds, peaks next to forecasts.

A section that raises is recorded, and the next one runs. What is done is kept after each section: a second call goes on
where the first one ended. Results go to `solutions/measured/<device>.json` and `.md`. On a pretended device nothing is
written there: its figures are no measurements.

Run: python benchmarks/first_gpu_day.py
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
    import pretend_device  # noqa: F401

import torch
from torch import nn

from grader import device_facts, forecast_peak_memory, lesson_device, measure_peak_memory
from grader.device import device_name
from grader.observing.default_settings import default_settings

ROOT = Path(__file__).resolve().parents[1]
PRETENDED = "PRETEND_LIBRARY" in os.environ
SEEDS = ("0", "1", "2", "3")
LESSON_SECONDS = 1800


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
    return {"forecast": forecast.peak_bytes, "requested": measured.peak_bytes, "allocated": allocated}


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
    sections: dict[str, Callable[[], Any]] = {"facts": facts, "peaks": peaks, "gradients": gradient_distances}
    for lesson in lessons:
        if lesson.name.startswith(chosen):
            sections[f"checks of {lesson.stem}"] = lambda lesson=lesson: checks_of(lesson)
    folder = Path(tempfile.mkdtemp(prefix="pretended-")) if PRETENDED else ROOT / "solutions/measured"
    folder.mkdir(exist_ok=True)
    file = folder / f"{device_name().lower().replace(' ', '-')}.json"
    done = record(sections, file)
    file.with_suffix(".md").write_text(table(done))
    print(f"{'pretended, no measurement' if PRETENDED else 'measured'}: {file}")


if __name__ == "__main__":
    main()

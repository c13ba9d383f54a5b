"""Identify what a run depends on in addition to its job: the grader, the packages, the device."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import platform
from pathlib import Path

import grader
from grader.gpu_files import is_gpu_visible

PACKAGES = ("lean-training", "nbgrader", "nbclient", "ipykernel", "torch", "transformers", "accelerate")
# What shows marks and does not make them: a new report needs no new run. Every other file of the package counts.
SHOWS_ONLY = {
    "__main__.py",
    "authoring",
    "classroom/base/errors.py",
    "classroom/base/progress.py",
    "classroom/base/storage.py",
    "classroom/commands",
    "classroom/marks",
    "classroom/pages",
    "classroom/scoring/comments.py",
}


def versions() -> dict[str, str]:
    """Return what graded: Python and packages, as installed."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


@functools.cache
def grader_digest() -> str:
    """Return the digest of the files of this package that can change a verdict."""
    package = Path(grader.__file__).resolve().parent
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*")):
        name = path.relative_to(package).as_posix()
        shows_only = name in SHOWS_ONLY or any(name.startswith(f"{folder}/") for folder in SHOWS_ONLY)
        if path.suffix in (".py", ".json", ".toml") and not shows_only:
            digest.update(f"{name}\0{path.stat().st_size}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def local_device() -> str:
    """Return what notebooks run on here, "cpu" or the names of the GPUs, without asking PyTorch."""
    if not is_gpu_visible():
        return "cpu"
    texts = (path.read_text() for path in sorted(Path("/proc/driver/nvidia/gpus").glob("*/information")))
    models = [line.partition(":")[2].strip() for text in texts for line in text.splitlines() if "Model:" in line]
    return "cuda " + ", ".join(sorted(set(models))) if models else "cuda"

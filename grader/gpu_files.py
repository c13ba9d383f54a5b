"""Decide, without PyTorch and CUDA, whether this machine has a GPU, and restrict a lesson to one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

# NVIDIA's driver on Linux, the same in WSL2, and AMD's ROCm, whose device PyTorch also calls "cuda".
_DRIVER_FILES: Final = ("nvidiactl", "dxg", "kfd")
CHOICES: Final = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")


def has_gpu(devices: Path = Path("/dev")) -> bool:
    """Return whether the driver of a GPU that PyTorch calls "cuda" is here, also where its devices are hidden."""
    return any((devices / name).exists() for name in _DRIVER_FILES)


def is_gpu_visible(devices: Path = Path("/dev")) -> bool:
    """Return whether a process started here would see a GPU."""
    return has_gpu(devices) and not any(os.environ.get(name, "all") in ("", "-1") for name in CHOICES)


def gpu_files(devices: Path = Path("/dev")) -> list[str]:
    """Return the device files by which a kernel reaches its GPU."""
    found = (path for pattern in ("nvidia*", "dxg", "kfd", "dri/render*") for path in devices.glob(pattern))
    return sorted(str(path) for path in found if not path.is_dir())


def keep_one_device() -> None:
    """Let this process see the first GPU alone, unless the user chose; it must be called before CUDA starts.

    With two, the Trainer doubles the batch by DataParallel.
    """
    if not any(name in os.environ for name in CHOICES):
        os.environ["CUDA_VISIBLE_DEVICES"] = "0"

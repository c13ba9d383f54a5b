"""Decides whether this machine has a GPU, without importing PyTorch."""

from __future__ import annotations

import os
from pathlib import Path

DRIVERS = ("/dev/nvidiactl", "/dev/dxg", "/dev/kfd")  # NVIDIA, Linux in Windows, AMD
HIDDEN_BY = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")


def has_gpu() -> bool:
    """Return whether kernels on this machine can use a GPU: a driver shows one, and no variable hides it."""
    is_hidden = any(os.environ.get(name, "all") in ("", "-1") for name in HIDDEN_BY)
    return not is_hidden and any(Path(driver).exists() for driver in DRIVERS)

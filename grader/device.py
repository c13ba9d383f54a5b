"""Choose the device and the number format that a lesson runs on."""

from __future__ import annotations

import torch


def lesson_device() -> torch.device:
    """Return the CUDA device where there is one, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def lesson_autocast_dtype() -> torch.dtype:
    """Return the 16-bit format that the lesson device computes in by hardware.

    CUDA with bf16 units gives bfloat16, older CUDA (a T4) gives float16, the CPU gives bfloat16.

    Source: PyTorch documentation, torch.cuda.is_bf16_supported; emulated bf16 is slower than fp32 and does not count.
    """
    if lesson_device().type == "cuda" and not torch.cuda.is_bf16_supported(including_emulation=False):
        return torch.float16
    return torch.bfloat16


def device_name() -> str:
    """Return the lesson device's name as a learner should read it, for example "CPU" or "Tesla T4"."""
    device = lesson_device()
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"

"""Report the lesson's device and how full its memory is."""

from __future__ import annotations

import platform
from dataclasses import dataclass

import torch

from grader.device import device_name, lesson_device
from grader.units import format_bytes


@dataclass(frozen=True, repr=False)
class DeviceFacts:
    """The lesson's device. Without a CUDA device the four byte counts are None.

    Attributes:
        device: The device by name, for example "CPU" or "Tesla T4".
        torch_version: The version of PyTorch.
        thread_count: Threads that PyTorch computes with on the CPU.
        platform: Operating system and processor.
        total_bytes: Memory of the device.
        occupied_bytes: What every process on the device occupies, with the CUDA contexts; `nvidia-smi` shows this.
        reserved_bytes: What this process's allocator has taken from the device.
        allocated_bytes: What tensors of this process use of the reserved bytes.
    """

    device: str
    torch_version: str
    thread_count: int
    platform: str
    total_bytes: int | None = None
    occupied_bytes: int | None = None
    reserved_bytes: int | None = None
    allocated_bytes: int | None = None

    def __repr__(self) -> str:
        lines = [f"{self.device}, torch {self.torch_version}, {self.thread_count} CPU threads, {self.platform}"]
        for label in ("total", "occupied", "reserved", "allocated"):
            bytes_count = getattr(self, f"{label}_bytes")
            if bytes_count is not None:
                lines.append(f"  {label:<10}{format_bytes(bytes_count):>14}")
        return "\n".join(lines)


def device_facts() -> DeviceFacts:
    """Return what the lesson's device is, and on CUDA how full its memory is.

    Source: NVIDIA Management Library, nvmlDeviceGetMemoryInfo; PyTorch documentation, torch.cuda.memory_reserved.
    """
    name, version, threads = device_name(), torch.__version__, torch.get_num_threads()
    system = f"{platform.system()} {platform.machine()}"
    device = lesson_device()
    if device.type != "cuda":
        return DeviceFacts(name, version, threads, system)
    occupied_bytes, total_bytes = _occupied_and_total_bytes(device)
    reserved_bytes, allocated_bytes = torch.cuda.memory_reserved(device), torch.cuda.memory_allocated(device)
    return DeviceFacts(name, version, threads, system, total_bytes, occupied_bytes, reserved_bytes, allocated_bytes)


def _occupied_and_total_bytes(device: torch.device) -> tuple[int, int]:
    """Ask NVML, or the CUDA driver where the Python package or the library of NVML is missing."""
    try:
        import pynvml

        pynvml.nvmlInit()
        try:
            # By UUID: NVML numbers all devices, PyTorch only the visible ones.
            handle = pynvml.nvmlDeviceGetHandleByUUID(f"GPU-{torch.cuda.get_device_properties(device).uuid}")
            memory = pynvml.nvmlDeviceGetMemoryInfo(handle)
            return int(memory.used), int(memory.total)
        finally:
            pynvml.nvmlShutdown()
    except Exception:  # a missing package, library or permission must not stop a lesson
        free_bytes, total_bytes = torch.cuda.mem_get_info(device)
        return total_bytes - free_bytes, total_bytes

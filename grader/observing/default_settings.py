"""Runs a check under PyTorch's own settings, whatever an earlier cell has set for the whole kernel."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch

KINDS = ("cpu", "cuda")
SUBNORMAL = 1e-40  # in float32


@contextlib.contextmanager
def default_settings() -> Iterator[None]:
    """Set dtype, device, precision and gradient mode to their defaults in the block, and the learner's again after it.

    A notebook that sets float64 for a plot would otherwise fail checks whose cases were written for float32.
    """
    dtype, precision = torch.get_default_dtype(), torch.get_float32_matmul_precision()
    device = torch.get_default_device()
    is_flushing = bool(torch.tensor(SUBNORMAL, dtype=torch.float32, device="cpu") * 1 == 0)
    are_cast = {kind: torch.is_autocast_enabled(kind) for kind in KINDS}
    for kind in KINDS:  # no region: within one, the copies of weights that inner regions make would stay
        torch.set_autocast_enabled(kind, False)
    _set(torch.float32, "highest", None, is_flushing=False)
    try:
        with contextlib.ExitStack() as modes:
            for mode in (torch.inference_mode(False), torch.enable_grad(), torch.autograd.set_detect_anomaly(False)):
                modes.enter_context(mode)
            yield
    finally:
        has_device = device.type != "cpu"
        for kind, is_on in are_cast.items():
            torch.set_autocast_enabled(kind, is_on)
        _set(dtype, precision, device if has_device else None, is_flushing=is_flushing)


def _set(dtype: torch.dtype, precision: str, device: torch.device | None, *, is_flushing: bool) -> None:
    torch.set_default_dtype(dtype)
    torch.set_float32_matmul_precision(precision)
    torch.set_default_device(device)
    torch.set_flush_denormal(is_flushing)

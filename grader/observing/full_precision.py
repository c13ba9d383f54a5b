"""Observes float32 products in float32, whatever the learner or the container has switched on."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch

_backends: Any = torch.backends


@contextlib.contextmanager
def full_precision() -> Iterator[None]:
    """Turn tf32 off for the block, and restore each setting after it: tf32 keeps 11 bits, no gradient check holds."""
    places = [_backends.cuda.matmul, _backends.mkldnn.matmul, _backends.cudnn.conv, _backends.cudnn.rnn]
    places = [place for place in places if hasattr(place, "fp32_precision")]
    kept = [place.fp32_precision for place in places]
    try:
        for place in places:
            place.fp32_precision = "ieee"
        yield
    finally:
        for place, precision in zip(places, kept, strict=True):
            place.fp32_precision = precision

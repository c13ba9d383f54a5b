"""Gives each check the same random numbers, whatever ran before it and whatever it draws."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator

import numpy
import torch


@contextlib.contextmanager
def own_draws(seed: int) -> Iterator[None]:
    """Begin the block's draws of torch, NumPy and Python from this seed; go on after it as if it had drawn nothing.

    A class run leaves out demonstrations, which draw numbers too: an answer with dropout must not be able to notice.
    """
    kept, kept_numpy = random.getstate(), numpy.random.get_state()
    devices = list(range(torch.cuda.device_count())) if torch.cuda.is_initialized() else []  # type: ignore[no-untyped-call]
    with torch.random.fork_rng(devices=devices):
        torch.default_generator.manual_seed(seed)
        if devices:
            torch.cuda.manual_seed_all(seed)
        random.seed(seed)
        numpy.random.seed(seed % 2**32)
        try:
            yield
        finally:
            random.setstate(kept)
            numpy.random.set_state(kept_numpy)

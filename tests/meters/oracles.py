"""Two ways to know a peak that share no code with the meter."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch
from torch.distributed._tools.mem_tracker import MemTracker
from torch.profiler import ProfilerActivity, profile

from .models import Job


@contextmanager
def without_onednn() -> Iterator[None]:
    torch._C._set_mkldnn_enabled(False)  # torch.backends.mkldnn.flags sets switches of Intel GPUs too, and warns
    try:
        yield
    finally:
        torch._C._set_mkldnn_enabled(True)


def profiled_peak_above_entry(job: Job) -> int:
    """Sum up the allocator's own events of one call.

    Without oneDNN, whose matrix products of 16-bit numbers take a workspace within the kernel.
    """
    with (
        without_onednn(),
        profile(activities=[ProfilerActivity.CPU], profile_memory=True) as recorded,
    ):
        job.step()
    events = [event for event in recorded.profiler.kineto_results.events() if event.name() == "[memory]"]
    held_bytes = peak_bytes = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        held_bytes += event.nbytes()
        peak_bytes = max(peak_bytes, held_bytes)
    return peak_bytes


def tracked_peak(job: Job, monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Return the peak of one call by MemTracker, in total and by its kinds."""
    tracker = MemTracker()
    get_rng_state = torch.get_rng_state
    monkeypatch.setattr(torch, "get_rng_state", lambda: get_rng_state().clone())  # it sees operators only
    tracker.track_external(job.model, job.optimizer, job.batch)
    with tracker, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Module is None")  # its own hooks, on a checkpointed module
        job.step(tracker.reset_mod_stats)
    snapshot = tracker.get_tracker_snapshot("peak")[torch.device("cpu")]
    return {getattr(kind, "value", kind): bytes_count for kind, bytes_count in snapshot.items()}

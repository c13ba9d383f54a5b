"""Records who watches a step while it runs: dispatch modes, this project's meters, a profiler."""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

METERS = "grader.meters."


@contextlib.contextmanager
def record_watchers(step: Callable[[], object]) -> Iterator[tuple[Callable[[], object], dict[str, Any]]]:
    """Record what watches the calls of `step` while the block runs, and end the modes that the block leaves on.

    Args:
        step: Function of no arguments.

    Yields:
        The step to hand over, and its record: "calls"; "watchers", the dispatch modes by module and class and the
        modules of this project's meters that call the step; "is_profiled"; and after the block "is_left_on".
    """
    record: dict[str, Any] = {"calls": 0, "watchers": [], "is_profiled": False, "is_left_on": False}
    modes_before = len(_get_current_dispatch_mode_stack())

    def watched_step() -> object:
        record["calls"] += 1
        record["watchers"] = sorted({*record["watchers"], *_meters_that_call(), *_modes()[modes_before:]})
        record["is_profiled"] |= torch._C._autograd._profiler_enabled()
        return step()

    try:
        yield watched_step, record
    finally:
        for mode in reversed(_get_current_dispatch_mode_stack()[modes_before:]):
            record["is_left_on"] = True
            mode.__exit__(None, None, None)  # type: ignore[no-untyped-call]


def _modes() -> list[str]:
    return [f"{type(mode).__module__}.{type(mode).__qualname__}" for mode in _get_current_dispatch_mode_stack()]


def _meters_that_call() -> set[str]:
    modules = (str(frame.f_globals.get("__name__")) for frame, _ in traceback.walk_stack(None))
    return {module for module in modules if module.startswith(METERS)}

"""Keeps the settings that bitsandbytes holds for the whole process apart for one run."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from grader.testbed.extras import import_train_extra


@contextlib.contextmanager
def fresh_optimizer_manager() -> Iterator[None]:
    """Let the block begin with no overrides in `GlobalOptimManager`, and put those from before back after it.

    The manager knows a parameter by its address and by its place in an optimizer. Another parameter may have the
    first after it is gone, and the first parameter of any other optimizer has the second.
    """
    manager = import_train_extra("bitsandbytes").optim.GlobalOptimManager.get_instance()
    kept = dict(vars(manager))
    manager.initialize()
    try:
        yield
    finally:
        vars(manager).update(kept)

"""Lean Training: measure, check and grade efficient training.

The names below are imported on first use, so `import grader` needs neither torch nor nbgrader.
"""

from __future__ import annotations

import functools
import importlib
import logging
import sys
from typing import Any

from grader.gpu_files import keep_one_device
from grader.registry import HOME_OF, home_of
from grader.variants import family_of

__all__ = sorted(HOME_OF)


def __getattr__(name: str) -> Any:
    if family_of(name) not in HOME_OF:
        raise AttributeError(f"module 'grader' has no attribute {name!r}; dir(grader) lists what it has")
    keep_one_device()
    _quiet_imports_once()
    _watch_cells_once()
    try:
        return getattr(importlib.import_module(home_of(name)), name)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] == "grader":
            raise
        command = "pip install 'lean-training[train]'"
        raise ImportError(f"grader.{name} needs the package {error.name!r}: install it with {command}") from error


@functools.cache
def _quiet_imports_once() -> None:
    """Keep what libraries say when transformers imports them out of notebooks: a GPU or a package that is missing."""
    for name in ("bitsandbytes", "torchao", "torch.utils._pytree"):
        logging.getLogger(name).setLevel(logging.ERROR)


@functools.cache
def _watch_cells_once() -> None:
    if "ipykernel" in sys.modules:
        importlib.import_module("grader.waiting").watch_cells()


def __dir__() -> list[str]:
    return __all__

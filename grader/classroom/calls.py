"""Functions by name, for processes that are told as text what to run."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any


def call_by_name(name: str) -> Callable[..., Any]:
    """Return the function that is named as "module:function"."""
    module, _, function = name.partition(":")
    found: Callable[..., Any] = getattr(importlib.import_module(module), function)
    return found

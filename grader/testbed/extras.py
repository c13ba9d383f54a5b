"""Libraries of the extra `train`, imported on first use."""

from __future__ import annotations

import importlib
from typing import Any


def import_train_extra(name: str) -> Any:
    """Import a library of the extra `train`.

    The testbed's own models need torch alone, so everything else is imported where it is used.

    Args:
        name: A module, for example "transformers".

    Returns:
        The module.

    Raises:
        ImportError: if it cannot be imported; the message gives the command that installs it.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        message = f"{name} cannot be imported ({error}). Install it with: pip install 'lean-training[train]'"
        raise ImportError(message, name=name) from error

"""Keeps finished quantizers out of an answer that is written by hand."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from grader.observing.contract import fail
from grader.testbed import block_codes

LIBRARY = "bitsandbytes.functional"
UPDATES = ("optimizer_update_8bit_blockwise", "optimizer_update_32bit")


@contextlib.contextmanager
def refuse_quantizers() -> Iterator[None]:
    """Fail the check when the block calls the course's own quantizer or that of bitsandbytes."""
    instead = "codes and scales from lines of your own"
    course = "You call the course's own quantizer. Write the lines that are left open."
    other = "You call the quantizer of bitsandbytes. Write the lines that are left open."
    library = [(module, "QuantState") for module in _loaded()]  # what its quantizers return their scales in
    with (
        _refused([(block_codes, "_nearest")], "course_quantizer", instead, "a call of encode_blocks", course),
        _refused(library, "library_quantizer", instead, "a call of bitsandbytes' quantizer", other),
    ):
        yield


@contextlib.contextmanager
def refuse_eight_bit_updates() -> Iterator[None]:
    """Fail the check when the block calls the updates that the optimizers of bitsandbytes consist of."""
    instead = "a step of lines of your own"
    look_at = "You call an update of bitsandbytes. Write the three lines yourself: decode, update, encode."
    seams = [(module, name) for module in _loaded() for name in UPDATES]
    with _refused(seams, "library_update", instead, "an update by bitsandbytes", look_at):
        yield


def _loaded() -> list[Any]:
    """Return the library's module, if anybody has imported it."""
    return [sys.modules[LIBRARY]] if LIBRARY in sys.modules else []


@contextlib.contextmanager
def _refused(seams: list[tuple[Any, str]], code: str, expected: str, measured: str, look_at: str) -> Iterator[None]:
    def refuse(*_: Any, **__: Any) -> NoReturn:
        fail(code, expected, measured, look_at)

    kept: list[Callable[..., Any]] = [getattr(owner, name) for owner, name in seams]
    for owner, name in seams:
        setattr(owner, name, refuse)
    try:
        yield
    finally:
        for (owner, name), function in zip(seams, kept, strict=True):
            setattr(owner, name, function)

"""Refuses torch's own narrow formats in an answer that should be written by hand."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from grader.observing.contract import fail

NARROW_BYTES = 2  # the most that an element of a narrow format has


@contextlib.contextmanager
def refuse_narrow_formats(instead: str) -> Iterator[None]:
    """Fail the check when the block makes a tensor of a floating-point format of 16 bits or fewer.

    Args:
        instead: What is asked for, for the message.
    """
    with _Refusal(instead):
        yield


class _Refusal(TorchDispatchMode):  # type: ignore[no-untyped-call]
    def __init__(self, instead: str):
        super().__init__()  # type: ignore[no-untyped-call]
        self.instead = instead

    def __torch_dispatch__(
        self,
        operator: Callable[..., Any],
        types: object,
        arguments: tuple[Any, ...] = (),
        keywords: dict[str, Any] | None = None,
    ) -> Any:
        result = operator(*arguments, **(keywords or {}))
        for value in tree_leaves(result):
            if isinstance(value, torch.Tensor) and value.is_floating_point() and value.itemsize <= NARROW_BYTES:
                measured = f"a tensor in {value.dtype}"
                look_at = (
                    "You let torch convert the value, and torch has only some of these formats. "
                    "Compute it from the counts of bits."
                )
                fail("torch_format_used", self.instead, measured, look_at)
        return result

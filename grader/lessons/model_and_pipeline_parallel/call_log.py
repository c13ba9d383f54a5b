"""Logs what a rank asks of torch.distributed, and the largest tensor that it computes with."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch

from grader.ranks.collectives import NO_PEER, CollectiveLog

_NAMES = {
    "send": "send",
    "recv_": "recv",
    "recv_any_source_": "recv",
    "barrier": "barrier",
    "monitored_barrier_": "barrier",
}
_FUNCTIONAL = "_c10d_functional"
_BOOKKEEPING = ("wait_tensor", "_wrap_tensor_autograd")


class CallLog(CollectiveLog):  # type: ignore[no-untyped-call]
    """A context manager that logs collectives, functional ones too, messages by `dist.send`, and the largest operand.

    Attributes:
        largest: Elements of the largest tensor that an operator took or returned.
    """

    def __init__(self) -> None:
        super().__init__()
        self.largest = 0
        self._is_paused = False

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Log nothing inside the block: the lesson's own `send` and `receive` are made of such messages."""
        self._is_paused = True
        try:
            yield
        finally:
            self._is_paused = False

    def __torch_dispatch__(
        self, function: Any, types: Any, arguments: tuple[Any, ...] = (), options: dict[str, Any] | None = None
    ) -> Any:
        """Run an operator, and log it."""
        if self._is_paused:
            return function(*arguments, **(options or {}))
        name = function._overloadpacket.__name__
        if function.namespace == "c10d" and name in _NAMES:
            self.events.append((_NAMES[name], NO_PEER, 0))
        if function.namespace == _FUNCTIONAL and name not in _BOOKKEEPING:
            byte_count = sum(one.nbytes for one in arguments if isinstance(one, torch.Tensor))
            self.events.append((name.replace("_into_tensor", "").removesuffix("_tensor"), NO_PEER, byte_count))
        value = super().__torch_dispatch__(function, types, arguments, options)
        if function.namespace == "aten":
            sizes = [one.numel() for one in (*arguments, value) if isinstance(one, torch.Tensor)]
            self.largest = max([self.largest, *sizes])
        return value

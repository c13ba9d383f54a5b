"""Logs the collective operations of a rank, whoever calls them: the rank's function, DDP, Accelerate or the Trainer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from grader.ranks.traffic import Event

NO_PEER = -1
_NAMES = {
    "allreduce_": "all_reduce",
    "allreduce_coalesced_": "all_reduce",
    "broadcast_": "broadcast",
    "allgather_": "all_gather",
    "_allgather_base_": "all_gather",
    "reduce_scatter_": "reduce_scatter",
    "_reduce_scatter_base_": "reduce_scatter",
    "reduce_": "reduce",
    "gather_": "gather",
    "scatter_": "scatter",
    "alltoall_": "all_to_all",
    "alltoall_base_": "all_to_all",
}


class CollectiveLog(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """A context manager; inside it `events` grows by one entry for each collective operation.

    It wraps the operators of torch.distributed, so it also sees what DDP starts from C++ during backward. The bytes
    of an entry are those of the tensors that this rank puts in.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.events: list[Event] = []

    def __torch_dispatch__(
        self, function: Any, types: Any, arguments: tuple[Any, ...] = (), options: dict[str, Any] | None = None
    ) -> Any:
        """Run an operator, and log it where it is a collective one."""
        name = _NAMES.get(function._overloadpacket.__name__) if function.namespace == "c10d" else None
        if name:
            own = (
                arguments[1]
                if name in ("all_gather", "gather", "reduce_scatter", "scatter", "all_to_all")
                else arguments[0]
            )
            self.events.append((name, NO_PEER, sum(tensor.nbytes for tensor in _tensors(own))))
        return function(*arguments, **(options or {}))


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _tensors(part)

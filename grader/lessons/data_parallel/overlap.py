"""Records when gradients are ready, and when all-reduces of them are started and waited for."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from grader.ranks.collectives import CollectiveLog

READY, START, BLOCKING, WAIT, OTHER, END = "ready", "start", "blocking", "wait", "other", "end of backward"

Events = list[list[Any]]  # what happened, and its bytes


class _Started:
    """An asynchronous all-reduce of what a tensor held at its start; it arrives when it is waited for, and not before.

    So a missing wait always shows, and what is written meanwhile is lost.
    """

    def __init__(self, tensor: Tensor, run: Callable[[Tensor], Any], events: Events):
        self._tensor, self._kept, self._run, self._events = tensor, tensor.detach().clone(), run, events
        self.is_waited = False

    def wait(self, *_: Any) -> bool:
        """Run it, once."""
        self._events.append([WAIT, 0])
        return self.is_completed()

    def is_completed(self) -> bool:
        """Run it, once: who asks again and again waits, too."""
        if not self.is_waited:
            self.is_waited = True
            self._run(self._kept)
            with torch.no_grad():
                self._tensor.copy_(self._kept)
        return True


class _Others(CollectiveLog):  # type: ignore[no-untyped-call]
    """Notes the collectives that do not come from `dist.all_reduce`."""

    def __init__(self, events: Events):
        super().__init__()
        self._noted, self.is_known = events, False

    def __torch_dispatch__(
        self, function: Any, types: Any, arguments: tuple[Any, ...] = (), options: dict[str, Any] | None = None
    ) -> Any:
        """Run an operator, and note it."""
        known = len(self.events)
        value = super().__torch_dispatch__(function, types, arguments, options)
        if not self.is_known:
            names = {"all_reduce": START}
            self._noted.extend([names.get(name, OTHER), byte_count] for name, _, byte_count in self.events[known:])
        return value


@contextlib.contextmanager
def watch_all_reduces(model: nn.Module) -> Iterator[tuple[Events, list[_Started]]]:
    """Note each gradient of a model that is ready, and each all-reduce; enter it before other hooks are registered."""
    events: Events = []
    started: list[_Started] = []
    function, others = dist.all_reduce, _Others(events)

    def run(tensor: Tensor, op: Any, group: Any) -> None:
        others.is_known = True
        function(tensor, op, group)
        others.is_known = False

    def all_reduce(tensor: Any, op: Any = dist.ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Any:
        if not isinstance(tensor, Tensor):
            return function(tensor, op, group, async_op)
        events.append([START if async_op else BLOCKING, tensor.nbytes])
        if not async_op:
            run(tensor, op, group)
            return None
        started.append(_Started(tensor, lambda kept: run(kept, op, group), events))
        return started[-1]

    def ready(parameter: Tensor) -> None:
        events.append([READY, parameter.nbytes])

    trained = [one for one in model.parameters() if one.requires_grad]
    hooks = [one.register_post_accumulate_grad_hook(ready) for one in trained]  # type: ignore[no-untyped-call]
    dist.all_reduce = all_reduce
    try:
        with others:
            yield events, started
    finally:
        dist.all_reduce = function
        for hook in hooks:
            hook.remove()

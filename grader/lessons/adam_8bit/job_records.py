"""Records what a training job does: forwards, updates, what its optimizers hold, what it leaves behind."""

from __future__ import annotations

import contextlib
import gc
from collections import Counter
from collections.abc import Iterator
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from torch.optim.optimizer import register_optimizer_step_post_hook

from grader.meters.storages import distinct_storage_bytes, optimizer_state_tensors, tensors_in
from grader.testbed.word_sorter import batch_number


class JobRecord:
    """What one training job did.

    Attributes:
        forwards: Forwards of the model.
        forwards_waiting: The most forwards without a gradient between them.
        gradients_alive: The most gradients that were there together.
        optimizers_made: Optimizers that updated the model.
        hooks_left: Hooks on parameters that are there at the end, and were not before.
        gradients_left: Gradients that are there at the end.
        is_left_zero: Whether these are zeros.
        state_left_bytes: State of optimizers that are still there at the end.
        batches_seen: A number for each forward that identifies its batch.
        formats: The formats that parameters had at a forward.
        is_embedding_in_codes: Whether an optimizer kept codes for an embedding.
        most_updates: How often the parameter was updated that was updated most, where optimizers take the steps.
    """

    def __init__(self, model: nn.Module):
        self.parameters = list(model.parameters())
        self._tables = [module.weight for module in model.modules() if isinstance(module, nn.Embedding)]
        self.is_embedding_in_codes = False
        self.forwards = self.forwards_waiting = self.gradients_alive = self.optimizers_made = 0
        self.hooks_left = self.gradients_left = self.state_left_bytes = self._waiting = 0
        self.is_left_zero = False
        self.batches_seen: list[int] = []
        self.formats: set[str] = set()
        self._updates: Counter[int] = Counter()
        self._hooks_before = self._hooks()
        self._names: set[str] = set()
        self._most_state_bytes = 0
        # Optimizers by what they hold, and only while they live: a record that kept them would keep their state.
        self._state_bytes: WeakKeyDictionary[torch.optim.Optimizer, int] = WeakKeyDictionary()

    def facts(self) -> dict[str, Any]:
        """Return the counts by name, the classes of the optimizers, and the most bytes of state at one time."""
        names = ("forwards", "forwards_waiting", "gradients_alive", "optimizers_made", "hooks_left", "gradients_left")
        counts = {name: getattr(self, name) for name in (*names, "is_left_zero", "is_embedding_in_codes")}
        counts |= {"batches_seen": self.batches_seen, "formats": sorted(self.formats)}
        counts["state_left_bytes"] = self.state_left_bytes
        counts |= {"most_updates": max(self._updates.values(), default=0)}
        return counts | {"optimizers": sorted(self._names), "state_bytes": self._most_state_bytes}

    def note_forward(self, _: nn.Module, inputs: tuple[Any, ...], named: dict[str, Any], __: Any) -> None:
        """Note a forward, its batch, and the formats of the parameters."""
        self.forwards += 1
        words = inputs[0] if inputs else named.get("words")
        self.batches_seen.append(batch_number(words) if isinstance(words, Tensor) else -1)
        self.formats |= {str(parameter.dtype).removeprefix("torch.") for parameter in self.parameters}
        self._waiting += 1
        self.forwards_waiting = max(self.forwards_waiting, self._waiting)

    def note_gradient(self, _: Tensor) -> None:
        """Note how many gradients there are, right after one of them was written."""
        self._waiting = 0
        alive = sum(parameter.grad is not None for parameter in self.parameters)
        self.gradients_alive = max(self.gradients_alive, alive)

    def note_step(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        """Note a step of an optimizer, and what it holds."""
        own = {id(parameter) for parameter in self.parameters}
        if any(id(parameter) in own for group in optimizer.param_groups for parameter in group["params"]):
            self.optimizers_made += optimizer not in self._state_bytes
            self._names.add(type(optimizer).__name__)
            states = [optimizer.state.get(table, {}) for table in self._tables]
            self.is_embedding_in_codes |= any(tensor.dtype is torch.uint8 for tensor in tensors_in(states))
            held = [parameter for group in optimizer.param_groups for parameter in group["params"]]
            self._updates.update(id(parameter) for parameter in held if parameter.grad is not None)
            self._state_bytes[optimizer] = distinct_storage_bytes(optimizer_state_tensors(optimizer))
            self._most_state_bytes = max(self._most_state_bytes, sum(self._state_bytes.values()))

    def close(self) -> None:
        """Note which hooks, gradients and optimizers are left."""
        gc.collect()
        self.state_left_bytes = sum(self._state_bytes.values())
        self.hooks_left = self._hooks() - self._hooks_before
        left = [parameter.grad for parameter in self.parameters if parameter.grad is not None]
        self.gradients_left = len(left)
        self.is_left_zero = not any(bool(gradient.any()) for gradient in left)

    def _hooks(self) -> int:
        names = ("_post_accumulate_grad_hooks", "_backward_hooks")
        return sum(len(getattr(parameter, name, None) or ()) for parameter in self.parameters for name in names)


@contextlib.contextmanager
def record_job(model: nn.Module) -> Iterator[JobRecord]:
    """Record a training job of `model` while the block runs."""
    record = JobRecord(model)
    handles: list[Any] = [
        model.register_forward_hook(record.note_forward, with_kwargs=True),
        register_optimizer_step_post_hook(record.note_step),
    ]
    # These hooks come first, so they see a gradient that a later hook frees.
    handles += [p.register_post_accumulate_grad_hook(record.note_gradient) for p in record.parameters]  # type: ignore[no-untyped-call]
    try:
        yield record
    finally:
        for handle in handles:
            handle.remove()
        record.close()

"""Which bytes each name of a namespace keeps alive: by the right rules, and by those that misconceptions follow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from grader.judging.lessons.where_memory_goes.deviations import Rules

RIGHT_RULES: Rules = {
    "shared": "left_out",
    "key": "storage",
    "size": "storage",
    "within": "once",
    "holders": "names",
    "containers": "nested",
    "modules": "followed",
    "optimizers": "followed",
    "gradients": "counted",
    "buffers": "counted",
}


@dataclass(frozen=True)
class HeldByNames:
    """Counts the bytes that each name keeps alive, by given rules.

    The rules, by question:

    - shared: what several names hold is "left_out", "counted" for each, "split" (or "split_down", to whole bytes),
      or goes to the "first" or the "last" of them;
    - key: by what sharing is known: "storage", "tensor", "address" (of the first element) or "content";
    - size: "storage", "tensor", "elements", or "float32" (four bytes for each element);
    - within: what one name holds twice counts "once" or "each" time;
    - holders: sharing counts "names", or "tensors", so that one name shares with itself;
    - containers: "nested", "one_level" or "skipped";
    - modules: "followed", by "state_dict", or "skipped";
    - optimizers: "followed", "state" or "parameters" alone, or "skipped";
    - gradients, buffers: "counted" or "forgotten".
    """

    rules: Rules

    def count(self, namespace: Mapping[str, object]) -> dict[str, float]:
        """Return the bytes for every name."""
        held = {name: self._held(value) for name, value in namespace.items()}
        holders: dict[object, list[str]] = {}
        for name, pieces in held.items():
            for key, _ in pieces:
                holders.setdefault(key, []).append(name)
        return {name: self._sum(name, pieces, holders) for name, pieces in held.items()}

    def tensors(self, value: object, depth: int = 0) -> Iterator[Tensor]:
        """Yield the tensors that a value holds; one that it holds twice is yielded twice."""
        if isinstance(value, Tensor):
            yield value
            if value.is_leaf and value.grad is not None and self.rules["gradients"] == "counted":
                yield value.grad
        for item in self._items(value, depth):
            yield from self.tensors(item, depth + 1)

    def _sum(self, name: str, pieces: list[tuple[object, int]], holders: Mapping[object, Sequence[str]]) -> float:
        counted = pieces if self.rules["within"] == "each" else list(dict(pieces).items())
        return sum(self._share(name, bytes_count, holders[key]) for key, bytes_count in counted)

    def _share(self, name: str, bytes_count: int, sightings: Sequence[str]) -> float:
        """Return how many bytes of a piece go to a name, given who holds it, in order."""
        names = list(dict.fromkeys(sightings)) if self.rules["holders"] == "names" else sightings
        if len(names) == 1 or self.rules["shared"] == "counted":
            return bytes_count
        if self.rules["shared"].startswith("split"):
            return bytes_count / len(names) if self.rules["shared"] == "split" else bytes_count // len(names)
        return bytes_count if name == {"first": names[0], "last": names[-1]}.get(self.rules["shared"]) else 0

    def _held(self, value: object) -> list[tuple[object, int]]:
        return [(self._key(tensor), self._size(tensor)) for tensor in self.tensors(value)]

    def _items(self, value: object, depth: int) -> list[object]:
        if isinstance(value, nn.Module):
            return self._items_of_module(value)
        if isinstance(value, torch.optim.Optimizer):
            return self._items_of_optimizer(value)
        deepest = {"skipped": 0, "one_level": 1}.get(self.rules["containers"])
        if deepest is not None and depth >= deepest:
            return []
        if isinstance(value, Mapping):
            return list(value.values())
        return list(value) if isinstance(value, list | tuple) else []

    def _items_of_module(self, module: nn.Module) -> list[object]:
        if self.rules["modules"] == "skipped":
            return []
        if self.rules["modules"] == "state_dict":
            return list(module.state_dict().values())
        return [*module.parameters(), *(module.buffers() if self.rules["buffers"] == "counted" else ())]

    def _items_of_optimizer(self, optimizer: torch.optim.Optimizer) -> list[object]:
        parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        state = [tensor for entry in optimizer.state.values() for tensor in entry.values()]
        pieces = {"state": state, "parameters": parameters, "skipped": []}
        return pieces.get(self.rules["optimizers"], [*parameters, *state])

    def _key(self, tensor: Tensor) -> object:
        if self.rules["key"] == "content":
            return tuple(tensor.shape), tensor.dtype, tensor.detach().numpy().tobytes()
        if self.rules["key"] == "address":
            return tensor.data_ptr()
        return id(tensor) if self.rules["key"] == "tensor" else tensor.untyped_storage()._cdata

    def _size(self, tensor: Tensor) -> int:
        if self.rules["size"] in ("elements", "float32"):
            return tensor.numel() * (4 if self.rules["size"] == "float32" else 1)
        return tensor.nbytes if self.rules["size"] == "tensor" else tensor.untyped_storage().nbytes()


def freed_by_names(namespace: Mapping[str, object]) -> dict[str, int]:
    """Return the bytes that deleting each name alone would free."""
    return {name: int(bytes_count) for name, bytes_count in HeldByNames(RIGHT_RULES).count(namespace).items()}

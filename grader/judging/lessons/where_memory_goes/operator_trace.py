"""What a meter on a dispatch mode can see of a step, and what meters with other rules make of it."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import count
from typing import Any, NamedTuple

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from grader.judging.lessons.where_memory_goes.deviations import Rules
from grader.meters.storages import tensors_in

RIGHT_RULES: Rules = {
    "key": "storage",
    "older": "left_out",
    "released": "storage",
    "announced": "once",
    "size": "storage",
    "results": "all",
    "read": "peak",
}


class Sighting(NamedTuple):
    """One tensor that went into an operator or came out of it; numbers are never used twice."""

    tensor: int
    storage: int
    offset: int
    storage_bytes: int
    tensor_bytes: int
    elements: int


@dataclass(frozen=True)
class OperatorRun:
    """The tensors that went into one operator and came out of it."""

    inputs: tuple[Sighting, ...]
    results: tuple[Sighting, ...]


@dataclass(frozen=True)
class Released:
    """A tensor object or a storage was let go."""

    kind: str
    number: int


Event = OperatorRun | Released


class OperatorTrace(TorchDispatchMode):
    """Keeps every operator's tensors and every release, in order."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.events: list[Event] = []
        self._numbers: dict[tuple[str, int], int] = {}
        self._count = count()

    def __torch_dispatch__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Run the operator and note its tensors."""
        result = func(*args, **(kwargs or {}))
        self.events.append(OperatorRun(self._sightings((args, kwargs or {})), self._sightings([result])))
        return result

    def _sightings(self, container: object) -> tuple[Sighting, ...]:
        return tuple(self._sighting(tensor) for tensor in _with_gradients(tensors_in(container)))

    def _sighting(self, tensor: Tensor) -> Sighting:
        storage = tensor.untyped_storage()
        return Sighting(
            self._number("tensor", tensor, id(tensor)),
            self._number("storage", storage, storage._cdata),
            int(tensor.storage_offset()) * tensor.element_size(),
            storage.nbytes(),
            tensor.nbytes,
            tensor.numel(),
        )

    def _number(self, kind: str, owner: object, key: int) -> int:
        if (kind, key) not in self._numbers:
            self._numbers[kind, key] = number = next(self._count)
            weakref.finalize(owner, self._release, kind, key, number)
        return self._numbers[kind, key]

    def _release(self, kind: str, key: int, number: int) -> None:
        del self._numbers[kind, key]
        self.events.append(Released(kind, number))


def _with_gradients(tensors: Iterable[Tensor]) -> Iterable[Tensor]:
    """Yield the tensors, and the gradients that leaves hold, as the lesson's watch hands them over."""
    for tensor in tensors:
        yield tensor
        if tensor.is_leaf and tensor.grad is not None:
            yield tensor.grad


def trace_of(step: Callable[[], object]) -> list[Event]:
    """Call the step once and return what was seen, up to the end of the call."""
    trace = OperatorTrace()
    with trace:
        step()
    return list(trace.events)


class Replay:
    """A meter that counts by given rules.

    The rules, by question:

    - key: by what a result is known again: "storage", "tensor", "address" (of its first element) or "nothing";
    - older: what an operator's arguments hold: "left_out", "counted" where it comes back as a result, or "added";
    - released: with which object a result stops counting: "storage", "tensor" or "never";
    - announced: a release is asked for "once", or for "every" result of the storage;
    - size: "storage", "tensor" or "elements";
    - results: "all" or "first" of those that one operator returns;
    - read: "peak", "end", "last" (operator), "before" (each operator is counted), "largest" (result), "operator".
    """

    def __init__(self, rules: Rules):
        self.rules = RIGHT_RULES | rules
        self.end = self.peak = self.before = self.largest = self.operator = self.last = 0
        self._known: set[object] = set()
        self._until: dict[tuple[str, int], list[tuple[object, int]]] = {}

    def read(self, events: Iterable[Event]) -> int:
        """Return the bytes that the meter reports for a step."""
        for event in events:
            if isinstance(event, OperatorRun):
                self._run(event)
            else:
                for key, bytes_count in self._until.pop((event.kind, event.number), ()):
                    self.end -= bytes_count
                    self._known.discard(key)
        return int(getattr(self, self.rules["read"]))

    def _run(self, run: OperatorRun) -> None:
        self.before = max(self.before, self.end)
        results = run.results[:1] if self.rules["results"] == "first" else run.results
        older = {self._key(sighting) for sighting in run.inputs} if self.rules["older"] == "left_out" else set()
        for sighting in (*run.inputs, *results) if self.rules["older"] == "added" else results:
            known = older if self.rules["key"] == "nothing" else older | self._known
            if self._key(sighting) not in known:
                self._count(sighting)
            elif self.rules["announced"] == "every":
                self._release_later(sighting)
        self.last, self.peak = self.end, max(self.peak, self.end)
        self.operator = max(self.operator, sum(self._size(sighting) for sighting in (*run.inputs, *results)))

    def _count(self, sighting: Sighting) -> None:
        self._known.add(self._key(sighting))
        self.end += self._size(sighting)
        self.largest = max(self.largest, self._size(sighting))
        self._release_later(sighting)

    def _release_later(self, sighting: Sighting) -> None:
        owner = self.rules["released"]
        if owner != "never":
            number = sighting.tensor if owner == "tensor" else sighting.storage
            self._until.setdefault((owner, number), []).append((self._key(sighting), self._size(sighting)))

    def _key(self, sighting: Sighting) -> object:
        if self.rules["key"] == "tensor":
            return sighting.tensor
        return (sighting.storage, sighting.offset) if self.rules["key"] == "address" else sighting.storage

    def _size(self, sighting: Sighting) -> int:
        sizes = {"storage": sighting.storage_bytes, "tensor": sighting.tensor_bytes, "elements": sighting.elements}
        return sizes[self.rules["size"]]

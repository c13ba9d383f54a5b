"""Follow every storage from its allocation to its release, by kind.

`AllocationMeter` is a dispatch mode. It sits above any mode that is active when it is entered, so real and fake tensors
are followed alike. `grader.meters.second_call.record_second_call` drives it over two calls of a step.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from grader.meters.peak import HeldByKind, MemorySample
from grader.meters.storages import dense_parts, is_wrapper_type

PARAMETER, GRADIENT, OPTIMIZER_STATE, ACTIVATION, OTHER = range(5)
FORWARD, BACKWARD, OPTIMIZER = "forward", "backward", "optimizer"

_DEVICE_OF = torch.ops.prim.device.default  # PyTorch asks a fake tensor for its device by an operator

Change = tuple[HeldByKind, str, object]


class _HeldStorage(weakref.ref[torch.UntypedStorage]):
    """A weak reference to a storage with what must be known when it is released."""

    __slots__ = ("bytes_count", "key", "kind")
    bytes_count: int
    key: int
    kind: int


class AllocationMeter(TorchDispatchMode):
    """A dispatch mode that keeps the bytes held by kind, their peak, and one change after the other.

    A storage counts from the moment when an operator returns it until its last owner lets it go.
    What existed before is counted only when `track` names it.
    """

    def __init__(self, device_type: str = "cpu"):
        super().__init__()  # type: ignore[no-untyped-call]
        self.device_type = device_type
        self.held_by_kind = [0, 0, 0, 0, 0]
        self.optimizer_depth = 0
        self._held: dict[int, _HeldStorage] = {}
        self._operator: object = "entry"
        self.restart()

    @property
    def held_bytes(self) -> int:
        """Return the bytes held at present."""
        return sum(self.held_by_kind)

    @property
    def phase(self) -> str:
        """Return "forward", "backward" or "optimizer"."""
        if self.optimizer_depth:
            return OPTIMIZER
        return FORWARD if torch._C._current_autograd_node() is None else BACKWARD

    def restart(self) -> None:
        """Forget the peak and the changes so far; what is held stays known."""
        self._operator = "entry"
        self.entry_bytes = self.peak_bytes = self.held_bytes
        self.peak_by_kind = self._held_now()
        self._changes: list[Change] = [(self.peak_by_kind, FORWARD, "entry")]

    def forget(self) -> None:
        """Stop following every storage."""
        self._held.clear()

    def track(self, tensors: Iterable[torch.Tensor], kind: int) -> None:
        """Count the tensors' storages under `kind`, whether they were known before or not."""
        has_changed = False
        for tensor in tensors:
            for part in dense_parts(tensor):
                has_changed |= self._count(part, kind, is_kind_known=True)
        if has_changed:
            self._note_change(self.phase)

    def timeline(self) -> tuple[MemorySample, ...]:
        """Return one sample at the last restart and one after each change since."""
        return tuple(MemorySample(*held, phase, str(operator)) for held, phase, operator in self._changes)

    def __torch_dispatch__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Run the operator and count what it allocates."""
        if func is _DEVICE_OF:
            return func(*args)
        if types and any(is_wrapper_type(kind) for kind in types):
            return NotImplemented  # the subclass unwraps itself, and the inner operators come here
        self._operator = func
        result = func(*args, **kwargs or {})
        if isinstance(result, torch.Tensor):
            self._see((result,), func, args, kwargs)
        elif isinstance(result, (tuple, list)):
            self._see([item for item in result if isinstance(item, torch.Tensor)], func, args, kwargs)
        return result

    def _see(self, results: Iterable[torch.Tensor], func: Any, args: Any, kwargs: Any) -> None:
        """Count the results that are new storages, and known storages that were resized."""
        phase = self.phase
        kind = self._kind_of_new(phase)
        has_changed = False
        for result in results:
            for part in dense_parts(result):
                key = part.untyped_storage()._cdata
                if key in self._held or not _came_with_argument(key, func, args, kwargs):
                    has_changed |= self._count(part, kind, is_kind_known=False)
        if has_changed:
            self._note_change(phase)

    def _kind_of_new(self, phase: str) -> int:
        """Return the kind of what is allocated now; recomputed forwards run in backward with gradients enabled."""
        if phase == FORWARD or (phase == BACKWARD and torch.is_grad_enabled()):
            return ACTIVATION
        return OTHER

    def _count(self, tensor: torch.Tensor, kind: int, *, is_kind_known: bool) -> bool:
        """Count one storage, or correct its size or kind; return whether the bytes held changed."""
        if tensor.device.type != self.device_type:
            return False
        storage = tensor.untyped_storage()
        bytes_count = storage.nbytes()
        known = self._held.get(storage._cdata)
        if known is None:
            known = _HeldStorage(storage, self._release)
            known.key, known.kind, known.bytes_count = storage._cdata, kind, 0
            self._held[known.key] = known
        new_kind = kind if is_kind_known else known.kind
        if known.bytes_count == bytes_count and known.kind == new_kind:
            return False
        self.held_by_kind[known.kind] -= known.bytes_count
        self.held_by_kind[new_kind] += bytes_count
        known.kind, known.bytes_count = new_kind, bytes_count
        return True

    def allocated(self, tensor: torch.Tensor) -> None:
        """Count a tensor that was allocated without an operator."""
        phase = self.phase
        if self._count(tensor, self._kind_of_new(phase), is_kind_known=False):
            self._note_change(phase)

    def resized(self, storage: torch.UntypedStorage) -> None:
        """Correct the size of a storage that was resized without an operator."""
        known = self._held.get(storage._cdata)
        if known is not None:
            self.held_by_kind[known.kind] += storage.nbytes() - known.bytes_count
            known.bytes_count = storage.nbytes()
            self._note_change(self.phase)

    def _release(self, storage: weakref.ref[torch.UntypedStorage]) -> None:
        assert isinstance(storage, _HeldStorage)
        if self._held.pop(storage.key, None) is not None and storage.bytes_count:
            self.held_by_kind[storage.kind] -= storage.bytes_count
            self._note_change(self.phase)

    def _held_now(self) -> HeldByKind:
        parameter, gradient, optimizer_state, activation, other = self.held_by_kind
        return parameter, gradient, optimizer_state, activation, other

    def _note_change(self, phase: str) -> None:
        held = self._held_now()
        total = sum(held)
        if total > self.peak_bytes:
            self.peak_bytes, self.peak_by_kind = total, held
        self._changes.append((held, phase, self._operator))


def _came_with_argument(key: int, func: Any, args: Any, kwargs: Any) -> bool:
    """Whether the storage of this key is an argument's, and so is older than the call."""
    if func is torch.ops.aten.lift_fresh.default:
        return False  # `torch.tensor(...)` fills its storage out of sight and shows it here first
    for argument in (*args, *kwargs.values()) if kwargs else args:
        for item in argument if isinstance(argument, (list, tuple)) else (argument,):
            if isinstance(item, torch.Tensor):
                for part in dense_parts(item):
                    if part.untyped_storage()._cdata == key:
                        return True
    return False

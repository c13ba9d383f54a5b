"""Knows which of the tensors that crossed a link are still on the device."""

from __future__ import annotations

from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef

from grader.testbed.far_memory import FarMemory, FarTensor


class StorageWatch:
    """Watches storages without holding them."""

    def __init__(self) -> None:
        self._seen: dict[int, tuple[StorageWeakRef, int]] = {}  # a reference keeps the address from being reused

    def add(self, *tensors: Tensor) -> None:
        """Watch the storages of some tensors."""
        for tensor in tensors:
            storage = tensor.untyped_storage()
            reference = _reference(storage)
            self._seen[reference.cdata] = (reference, storage.nbytes())

    def held_bytes(self, *known: Tensor) -> int:
        """Return the bytes of the watched storages that still exist, without those of `known` tensors."""
        left_out = {_reference(tensor.untyped_storage()).cdata for tensor in known}
        self._seen = {key: one for key, one in self._seen.items() if not one[0].expired()}  # type: ignore[no-untyped-call]
        return sum(nbytes for key, (_, nbytes) in self._seen.items() if key not in left_out)


class WatchedFarMemory(FarMemory):
    """Far memory that watches the tensors that were sent and fetched.

    Attributes:
        sent: Storages of the tensors that were put.
        fetched: Storages of the tensors that were got.
    """

    def __init__(self) -> None:
        super().__init__()
        self.sent, self.fetched = StorageWatch(), StorageWatch()

    def put(self, tensor: Tensor, onto: FarTensor | None = None) -> FarTensor:
        """Copy a tensor into far memory, and watch it."""
        far = super().put(tensor, onto)
        self.sent.add(tensor)
        return far

    def get(self, far: FarTensor) -> Tensor:
        """Return a new tensor with the numbers of a far one, and watch it."""
        tensor = super().get(far)
        self.fetched.add(tensor)
        return tensor


def _reference(storage: object) -> StorageWeakRef:
    return StorageWeakRef(storage)  # type: ignore[no-untyped-call]

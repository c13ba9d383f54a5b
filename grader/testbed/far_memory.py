"""A larger and slower memory than the device's: a memory-mapped file, or pinned memory of a GPU's host."""

from __future__ import annotations

import math
import tempfile
import weakref
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
import torch
from torch import Tensor

_ALIGNMENT = 64
_INTEGERS: dict[int, tuple[torch.dtype, Any]] = {
    1: (torch.uint8, np.uint8),
    2: (torch.int16, np.int16),
    4: (torch.int32, np.int32),
    8: (torch.int64, np.int64),
}


@dataclass(frozen=True)
class Transfer:
    """One transfer over the link.

    Attributes:
        direction: "put" towards far memory, "get" towards the device.
        shape: Shape of the tensor.
        dtype: Its number format, for example "float32".
        bytes_count: Its bytes.
    """

    direction: str
    shape: tuple[int, ...]
    dtype: str
    bytes_count: int


class FarTensor:
    """Where a tensor is in far memory; its bytes there are freed when the last reference to this object goes.

    Attributes:
        shape: Shape of the tensor.
        dtype: Its dtype.
        device: The device that it came from.
        nbytes: Its bytes.
    """

    def __init__(self, tensor: Tensor, place: Any):
        self.shape, self.dtype, self.device, self.nbytes = tensor.shape, tensor.dtype, tensor.device, tensor.nbytes
        self._place = place  # an offset in the file, or a pinned tensor

    def __repr__(self) -> str:
        return f"FarTensor({tuple(self.shape)}, {str(self.dtype).removeprefix('torch.')}, {self.nbytes:,} bytes)"


class FarMemory:
    """Holds copies of tensors outside the device, and counts what crosses the link.

    For tensors of the CPU it is a temporary file, of which a window is mapped into memory for each copy: its bytes are
    no storage of PyTorch, so no meter of the course counts them. For tensors of a CUDA device it is pinned memory of
    the host. Copies are in the order of the device's other work, so that a peak does not depend on how fast they are:
    a stream of their own would overlap them, and hold each tensor until its copy is done.

    Attributes:
        transfers: Every transfer so far, in order.
        held_bytes: Bytes of the tensors that are in far memory now.
    """

    def __init__(self) -> None:
        self.transfers: list[Transfer] = []
        self.held_bytes = 0
        self._file: IO[bytes] | None = None
        self._end = 0
        self._free: dict[int, list[int]] = {}

    @property
    def sent_bytes(self) -> int:
        """Return the bytes that were put."""
        return self._sum("put")

    @property
    def fetched_bytes(self) -> int:
        """Return the bytes that were got."""
        return self._sum("get")

    def put(self, tensor: Tensor, onto: FarTensor | None = None) -> FarTensor:
        """Copy a tensor into far memory.

        Args:
            tensor: A dense tensor of any shape and dtype; it stays as it is.
            onto: Far tensor of the same shape and dtype whose numbers are replaced; if left out, a new one is made.

        Returns:
            The far tensor, which `get` takes.
        """
        tensor = tensor.detach()
        if onto is not None and (onto.shape, onto.dtype) != (tensor.shape, tensor.dtype):
            raise ValueError(f"{tuple(tensor.shape)}, {tensor.dtype} cannot replace {onto}")
        far = self._reserve(tensor) if onto is None else onto
        if tensor.is_cuda:
            far._place.copy_(tensor, non_blocking=True)
        elif far.nbytes:
            self._window(far)[...] = _bits(tensor)
        self._note("put", far)
        return far

    def get(self, far: FarTensor) -> Tensor:
        """Return a new tensor on its device with the numbers of a far tensor, which stays as it is."""
        if not isinstance(far, FarTensor):
            raise TypeError(f"get takes a FarTensor, which put returned, and not a {type(far).__name__}")
        tensor = torch.empty(far.shape, dtype=far.dtype, device=far.device)
        if tensor.is_cuda:
            tensor.copy_(far._place, non_blocking=True)
        elif far.nbytes:
            _bits(tensor)[...] = self._window(far)
        self._note("get", far)
        return tensor

    def _reserve(self, tensor: Tensor) -> FarTensor:
        size = math.ceil(tensor.nbytes / _ALIGNMENT) * _ALIGNMENT
        place: Any
        if tensor.is_cuda:
            place = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
        elif self._free.get(size):
            place = self._free[size].pop()
        else:
            place, self._end = self._end, self._end + size
        far = FarTensor(tensor, place)
        self.held_bytes += far.nbytes
        offset = None if tensor.is_cuda else place
        weakref.finalize(far, self._release, far.nbytes, size, offset).atexit = False
        return far

    def _release(self, bytes_count: int, size: int, offset: int | None) -> None:
        self.held_bytes -= bytes_count
        if offset is not None:
            self._free.setdefault(size, []).append(offset)

    def _window(self, far: FarTensor) -> Any:
        """Map the part of the file that holds a tensor, until the caller lets it go."""
        if self._file is None:
            self._file = tempfile.TemporaryFile(buffering=0)
            weakref.finalize(self, self._file.close)
        kind = _INTEGERS[far.dtype.itemsize][1]
        window = np.memmap(self._file, kind, "r+", offset=far._place, shape=(far.nbytes // far.dtype.itemsize,))
        return window.reshape(tuple(far.shape))

    def _note(self, direction: str, far: FarTensor) -> None:
        name = str(far.dtype).removeprefix("torch.")
        self.transfers.append(Transfer(direction, tuple(far.shape), name, far.nbytes))

    def _sum(self, direction: str) -> int:
        return sum(transfer.bytes_count for transfer in self.transfers if transfer.direction == direction)


def _bits(tensor: Tensor) -> Any:
    """Return an array of integers over a tensor's own memory, whatever its dtype and strides."""
    return tensor.view(_INTEGERS[tensor.dtype.itemsize][0]).numpy()

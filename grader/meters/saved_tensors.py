"""What autograd keeps from forward until backward."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

from grader.meters.storages import dense_parts
from grader.units import format_bytes

_ROWS_SHOWN = 12


@dataclass(frozen=True, slots=True)
class SavedTensor:
    """One storage that backward needs.

    Attributes:
        shape: Shape of the first tensor that was saved from this storage.
        dtype: Its number format, for example "float32".
        bytes_count: Bytes of the whole storage.
    """

    shape: tuple[int, ...]
    dtype: str
    bytes_count: int


@dataclass(frozen=True, repr=False)
class SavedTensors:
    """The storages that autograd keeps for backward, without parameters, each once.

    Attributes:
        rows: One row for each storage, in the order of saving.
    """

    rows: tuple[SavedTensor, ...]

    @property
    def total_bytes(self) -> int:
        """Return the bytes of all rows."""
        return sum(row.bytes_count for row in self.rows)

    def __repr__(self) -> str:
        counts: dict[SavedTensor, int] = {}
        for row in self.rows:
            counts[row] = counts.get(row, 0) + 1
        lines = [
            f"  {count:>4} x {list(row.shape)!s:<24} {row.dtype:<10} {format_bytes(row.bytes_count):>14} each"
            for row, count in sorted(counts.items(), key=lambda item: -item[0].bytes_count * item[1])
        ]
        if len(lines) > _ROWS_SHOWN:
            lines[_ROWS_SHOWN:] = [f"  and {len(lines) - _ROWS_SHOWN} smaller shapes"]
        return "\n".join([f"Saved for backward: {format_bytes(self.total_bytes)} in {len(self.rows)} storages", *lines])


def measure_saved_tensors(forward: Callable[[], object]) -> SavedTensors:
    """Measure what autograd keeps for backward while `forward` runs.

    Parameters and views of them are left out, and each storage counts once with all its bytes. A tensor that a function
    keeps as a plain attribute of its context (`ctx.x = x`) is not seen: autograd does not know of it.

    Args:
        forward: Function of no arguments that returns outputs or a loss; nothing is freed before it has returned.

    Returns:
        The shapes, formats and bytes of what is kept.

    Source: PyTorch documentation, torch.autograd.graph.saved_tensors_hooks.
    """
    kept: dict[int, tuple[torch.UntypedStorage, SavedTensor]] = {}
    parameters: set[int] = set()

    def remember(tensor: torch.Tensor) -> torch.Tensor:
        for part in dense_parts(tensor):
            storage = part.untyped_storage()
            if _is_parameter(tensor):
                parameters.add(storage._cdata)
            row = SavedTensor(tuple(part.shape), str(part.dtype).removeprefix("torch."), storage.nbytes())
            kept.setdefault(storage._cdata, (storage, row))  # the storage is held, so that no later one takes its key
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(remember, lambda tensor: tensor):
        outputs = forward()
    del outputs
    return SavedTensors(tuple(row for key, (_, row) in kept.items() if key not in parameters))


def _is_parameter(tensor: torch.Tensor) -> bool:
    """Whether the tensor is a parameter or a view of one; autograd saves weights transposed."""
    return isinstance(tensor, nn.Parameter) or isinstance(tensor._base, nn.Parameter)

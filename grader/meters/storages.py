"""Find the storages that an object holds. Memory belongs to a storage; several tensors may be views of one."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence

import torch
from torch import nn
from torch.utils._python_dispatch import is_traceable_wrapper_subclass_type

is_wrapper_type = functools.cache(is_traceable_wrapper_subclass_type)


def dense_parts(tensor: torch.Tensor) -> Sequence[torch.Tensor]:
    """Return the plain tensors that hold a tensor's memory: itself, or the parts of a sparse or wrapped one."""
    if is_wrapper_type(type(tensor)):
        names = tensor.__tensor_flatten__()[0]  # type: ignore[attr-defined]
        return [part for name in names for part in dense_parts(getattr(tensor, name))]
    if tensor.layout is torch.strided:
        return (tensor,)
    if tensor.layout is torch.sparse_coo:
        return (tensor._indices(), tensor._values())
    if tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        return (tensor.crow_indices(), tensor.col_indices(), tensor.values())
    return ()


def leaves_in(container: object) -> Iterator[object]:
    """Yield what nested mappings, sequences, sets and dataclasses hold; any other object is a leaf."""
    if isinstance(container, Mapping):
        values: Iterable[object] = container.values()
    elif isinstance(container, (list, tuple, set, frozenset)):
        values = container
    elif dataclasses.is_dataclass(container) and not isinstance(container, type):
        values = [getattr(container, field.name, None) for field in dataclasses.fields(container)]
    else:
        yield container
        return
    for value in values:
        yield from leaves_in(value)


def tensors_in(container: object) -> Iterator[torch.Tensor]:
    """Yield every tensor in nested mappings, sequences, sets and dataclasses."""
    return (leaf for leaf in leaves_in(container) if isinstance(leaf, torch.Tensor))


def parameters_of(model: nn.Module | None, optimizer: torch.optim.Optimizer | None) -> list[torch.Tensor]:
    """Return each parameter of the model and of the optimizer's groups once."""
    found: dict[int, torch.Tensor] = {}
    groups = optimizer.param_groups if optimizer is not None else []
    for parameter in [*(model.parameters() if model is not None else ()), *(p for g in groups for p in g["params"])]:
        found.setdefault(id(parameter), parameter)
    return list(found.values())


def gradients_of(parameters: Iterable[torch.Tensor]) -> list[torch.Tensor]:
    """Return the gradients that the parameters hold at present."""
    return [parameter.grad for parameter in parameters if parameter.grad is not None]


def optimizer_state_tensors(optimizer: torch.optim.Optimizer | None) -> list[torch.Tensor]:
    """Return the tensors of the optimizer's state; two entries may be the same tensor."""
    return [] if optimizer is None else list(tensors_in(list(optimizer.state.values())))


def distinct_storage_bytes(tensors: Iterable[torch.Tensor]) -> int:
    """Sum the bytes of the tensors' storages, each storage once."""
    storages = (part.untyped_storage() for tensor in tensors for part in dense_parts(tensor))
    return sum({storage._cdata: storage.nbytes() for storage in storages}.values())

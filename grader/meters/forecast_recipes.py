"""Remember the results of operators by their arguments.

PyTorch's own memory of fake results takes most of a forecast's time, because it also serves symbolic shapes, sparse
tensors and tracing. None of them occurs in a forecast.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor


@dataclass(frozen=True, slots=True)
class FakeResult:
    """How one result of an operator is made from its tensor arguments.

    Attributes:
        shape: Its sizes.
        stride: Its strides, in elements.
        storage_offset: Where it begins in its storage, in elements.
        dtype: Its number format.
        device: The device that it pretends to be on.
        source: Index of the argument whose storage it shares; None for a storage of its own.
        is_argument: Whether it is that argument itself, as an in-place operator returns it.
    """

    shape: tuple[int, ...]
    stride: tuple[int, ...]
    storage_offset: int
    dtype: torch.dtype
    device: torch.device
    source: int | None
    is_argument: bool


@dataclass(frozen=True, slots=True)
class Recipe:
    """The results of an operator: one (`container` is None) or several, some of them None."""

    container: type | None
    parts: tuple[FakeResult | None, ...]


class _NotTellable(Exception):
    """A result that does not follow from shapes alone."""


def is_determined_by_shapes(func: Any) -> bool:
    """Whether an operator's results depend on nothing but shapes, formats and plain numbers."""
    if not isinstance(func, torch._ops.OpOverload) or func.namespace != "aten":
        return False
    excluded = {torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape, torch.Tag.inplace_view}
    return excluded.isdisjoint(func.tags) and func.overloadpacket is not torch.ops.aten.lift_fresh


def add_to_key(key: list[object], arguments: Iterable[Any], tensors: list[FakeTensor], mode: object) -> bool:
    """Add to `key` what the results depend on.

    Args:
        key: Grows by the arguments' shapes, formats and values.
        arguments: Arguments of an operator.
        tensors: Grows by the tensors among the arguments.
        mode: The mode that they must belong to.

    Returns:
        Whether all of it is known; a tensor whose value is known makes its result's value known, which a key misses.
    """
    for argument in arguments:
        kind = type(argument)
        if kind is FakeTensor:
            is_plain = argument.layout is torch.strided and not argument.dtype.is_complex
            if not is_plain or argument.constant is not None or argument.fake_mode is not mode:
                return False
            tensors.append(argument)
            key += (argument.shape, argument.stride(), argument.storage_offset(), argument.dtype, argument.fake_device)
        elif kind is list or kind is tuple:
            key += (kind, len(argument))
            if not add_to_key(key, argument, tensors, mode):
                return False
        elif isinstance(argument, torch.Tensor):
            return False
        else:
            key += (kind, argument)
    return True


def recipe_of(result: Any, tensors: list[FakeTensor]) -> Recipe | None:
    """Derive how an operator's result was made from its tensors.

    Args:
        result: What the operator returned: a tensor, or several.
        tensors: The tensors among its arguments.

    Returns:
        The recipe, or None where the result must be derived each time.
    """
    is_several = isinstance(result, (list, tuple))
    try:
        if not is_several:
            return Recipe(None, (_part_of(result, tensors),))
        parts = tuple(None if part is None else _part_of(part, tensors) for part in result)
        return Recipe(list if isinstance(result, list) else tuple, parts)
    except _NotTellable:
        return None


def _part_of(result: Any, tensors: list[FakeTensor]) -> FakeResult:
    if not isinstance(result, FakeTensor) or result.layout is not torch.strided:
        raise _NotTellable
    if result.constant is not None or result.dtype.is_complex:
        raise _NotTellable
    storage = result.untyped_storage()
    sources = [index for index, tensor in enumerate(tensors) if tensor.untyped_storage()._cdata == storage._cdata]
    same = [index for index, tensor in enumerate(tensors) if tensor is result]
    shape, stride = tuple(result.shape), result.stride()
    if not sources:
        alike = torch.empty_strided(shape, stride, dtype=result.dtype, device="meta")
        if alike.untyped_storage().nbytes() != storage.nbytes() or result.storage_offset():
            raise _NotTellable
    return FakeResult(
        shape,
        stride,
        int(result.storage_offset()),
        result.dtype,
        result.fake_device,
        source=next(iter(same or sources), None),
        is_argument=bool(same),
    )

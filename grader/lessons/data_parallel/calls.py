"""Lists of parameters whose all-reduces are predicted."""

from __future__ import annotations

import random
from dataclasses import dataclass

import torch
from torch import Tensor

NOWHERE, AROUND_BACKWARD, AROUND_BOTH = "nowhere", "around backward", "around forward and backward"


@dataclass(frozen=True)
class CallsCase:
    """A model's parameters, and how one update of it is run under DistributedDataParallel.

    Attributes:
        shapes: Shapes of the parameters, in their order.
        frozen: Places of the frozen ones.
        bucket_bytes: A bucket is closed as soon as it holds so many.
        k: Micro-batches of one update.
        no_sync: Where no_sync stands, for all micro-batches but the last.
        dtype: Number format of all parameters.
    """

    shapes: tuple[tuple[int, ...], ...]
    frozen: tuple[int, ...]
    bucket_bytes: int
    k: int
    no_sync: str
    dtype: torch.dtype = torch.float32

    def make_parameters(self) -> list[Tensor]:
        """Make the parameters: shapes without values."""
        return [
            torch.nn.Parameter(
                torch.empty(shape, dtype=self.dtype, device="meta"), requires_grad=index not in self.frozen
            )
            for index, shape in enumerate(self.shapes)
        ]


# Sizes of tensors in the order of the parameters, and of a bucket, in one unit. Reversed, one bucket is filled exactly
# and others run over; read forwards they make another number of buckets.
_SIZES, _BUCKET = (3, 1, 6, 2, 2, 5, 1, 4), 5
_LAST_LARGE, _LAST_LARGE_BUCKET = (2, 1, 1, 2, 1, 9), 3
# Frozen tensors that come while a bucket is open: one that closed or emptied it would make another number of buckets.
_PARTLY_FROZEN, _FROZEN = (3, 2, 4, 4, 3, 6, 2, 6, 6, 1, 3), (0, 1, 3, 8)


def calls_cases(seed: int) -> tuple[CallsCase, ...]:
    """Nine settings.

    A plain update; accumulation without no_sync, with it around backward, and around both; frozen tensors, also with
    an open bucket; 16-bit numbers in one bucket and in several; and a last tensor larger than a bucket.
    """
    draw = random.Random(seed)
    width, k, other_k = draw.randrange(20, 60), draw.choice((3, 5)), draw.choice((4, 6, 8))
    unit_bytes = 4 * width
    shapes = tuple((size, width) for size in _SIZES)
    partly_frozen = tuple((size, width) for size in _PARTLY_FROZEN)
    late = tuple((size, width) for size in _LAST_LARGE)
    bucket_bytes, whole = _BUCKET * unit_bytes, sum(_SIZES) * unit_bytes
    return (
        CallsCase(shapes, (), bucket_bytes, 1, NOWHERE),
        CallsCase(shapes, (), bucket_bytes, k, NOWHERE),
        CallsCase(shapes, (), bucket_bytes, other_k, AROUND_BACKWARD),
        CallsCase(shapes, (), bucket_bytes, other_k, AROUND_BOTH),
        CallsCase(shapes, (0, 1, 5), bucket_bytes, k, AROUND_BACKWARD),
        CallsCase(partly_frozen, _FROZEN, bucket_bytes, 1, NOWHERE),
        CallsCase(shapes, (), whole, k, AROUND_BOTH, torch.bfloat16),
        CallsCase(shapes, (), bucket_bytes // 2, 1, NOWHERE, torch.float16),
        CallsCase(late, (), _LAST_LARGE_BUCKET * unit_bytes, other_k, NOWHERE),
    )

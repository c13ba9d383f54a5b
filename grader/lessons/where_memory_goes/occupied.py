"""Readings of a GPU's memory: what PyTorch says and what the device says."""

from __future__ import annotations

import random
from dataclasses import dataclass

from grader.units import MIB


@dataclass(frozen=True)
class OccupiedCase:
    """Four readings at one moment, in bytes.

    Attributes:
        what: Where the readings come from.
        allocated: In tensors.
        reserved: Taken from the device by PyTorch's allocator.
        occupied: In use, as the device says.
        total: What the device has.
    """

    what: str
    allocated: int
    reserved: int
    occupied: int
    total: int


# Published readings of BERT-large on a V100: 1,343 MiB in use after a first small tensor, 2,631 of 16,160 MiB after the
# model. That the allocator reserved the difference, and that tensors hold the parameters alone, is inferred.
# Source: Hugging Face, "Efficient Training on a Single GPU" (transformers 4.30); it prints MB and means MiB.
BERT_LARGE_PARAMETERS = 335_143_938
BERT_LARGE_LOADED = OccupiedCase(
    "BERT-large on a V100", 4 * BERT_LARGE_PARAMETERS, (2631 - 1343) * MIB, 2631 * MIB, 16_160 * MIB
)


def occupied_cases(seed: int) -> tuple[OccupiedCase, ...]:
    """Return four settings: published readings, no cache at all, a large cache, and a device that is nearly full."""
    draw = random.Random(seed)
    return (
        BERT_LARGE_LOADED,
        _made_up(draw, "a first batch, nothing freed yet", total_mib=24_576, reserved_share=0.3, allocated_share=1.0),
        _made_up(draw, "a validation after a large batch", total_mib=40_960, reserved_share=0.6, allocated_share=0.2),
        _made_up(draw, "a nearly full device", total_mib=15_360, reserved_share=0.92, allocated_share=0.85),
    )


def _made_up(
    draw: random.Random, what: str, *, total_mib: int, reserved_share: float, allocated_share: float
) -> OccupiedCase:
    """Draw readings: the allocator reserves blocks of 2 MiB, and tensors take multiples of 512 bytes of them."""
    outside = draw.randrange(300, 600) * MIB
    reserved = 2 * MIB * int(draw.uniform(0.95, 1.0) * reserved_share * total_mib / 2)
    allocated = reserved
    if allocated_share < 1:
        allocated = 512 * int(draw.uniform(0.9, 1.0) * allocated_share * reserved / 512)
    return OccupiedCase(what, allocated, reserved, outside + reserved, total_mib * MIB)

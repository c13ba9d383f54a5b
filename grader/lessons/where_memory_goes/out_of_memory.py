"""Out-of-memory messages, whose cause is asked for."""

from __future__ import annotations

import random
from dataclasses import dataclass

from grader.units import GIB, MIB

CAUSES = ("fragmentation", "other processes", "too large")


@dataclass(frozen=True)
class OutOfMemoryCase:
    """The numbers of one message, in bytes.

    Attributes:
        asked: "Tried to allocate".
        total: "has a total capacity of".
        free: "of which ... is free".
        own: "this process has ... memory in use", the context included.
        allocated: "allocated by PyTorch".
        unallocated: "reserved by PyTorch but unallocated".
    """

    asked: int
    total: int
    free: int
    own: int
    allocated: int
    unallocated: int


def out_of_memory_cases(seed: int) -> tuple[OutOfMemoryCase, ...]:
    """Return nine messages in a drawn order: three of each cause, on both sides of each limit."""
    draw = random.Random(seed)
    cases = [  # free, unallocated, and what other processes hold, as shares of what is asked for
        _message(draw, free=0.4, unallocated=1.9, others=0.0),
        _message(draw, free=0.55, unallocated=0.6, others=0.0),
        _message(draw, free=0.3, unallocated=1.3, others=2.0),
        _message(draw, free=0.5, unallocated=0.2, others=3.0),
        _message(draw, free=0.1, unallocated=0.3, others=0.8),
        _message(draw, free=0.75, unallocated=0.12, others=0.35),
        _message(draw, free=0.2, unallocated=0.2, others=0.0, least_mib=1500),  # more is missing than the context
        _message(draw, free=0.75, unallocated=0.2, others=0.0),
        _message(draw, free=0.2, unallocated=0.2, others=0.3),
    ]
    draw.shuffle(cases)
    return tuple(cases)


def _message(
    draw: random.Random, *, free: float, unallocated: float, others: float, least_mib: int = 500
) -> OutOfMemoryCase:
    """Draw a message of a device that is full: PyTorch's allocator reserves blocks of 2 MiB."""
    total = draw.choice((16, 24, 40)) * GIB - draw.randrange(200, 900) * MIB
    asked = draw.randrange(least_mib, 3000, 2) * MIB
    context = draw.randrange(380, 640) * MIB
    left, cached, held_by_others = (int(share * asked) for share in (free, unallocated, others))
    own = total - left - held_by_others
    return OutOfMemoryCase(asked, total, left, own, own - context - cached, cached)

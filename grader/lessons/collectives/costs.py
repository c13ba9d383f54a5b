"""All-reduces whose rounds and bytes are predicted."""

from __future__ import annotations

import random
from dataclasses import dataclass

ALGORITHMS = ("naive", "tree", "butterfly", "ring")


@dataclass(frozen=True)
class CostCase:
    """An all-reduce.

    Attributes:
        algorithm: One of `ALGORITHMS`.
        world_size: How many ranks.
        tensor_bytes: Bytes of the tensor on each rank. A rank's share of them need not be a whole number.
    """

    algorithm: str
    world_size: int
    tensor_bytes: int


def cost_cases(seed: int) -> tuple[CostCase, ...]:
    """Return settings of all four algorithms: eight ranks, as in the lesson, and numbers that it never shows.

    All but the butterfly also have a number of ranks that is no power of two. The tree has one where twice the
    logarithm, rounded up, is less than twice the rounded logarithm. The chunks of the last
    ring are no whole number of bytes.
    """
    draw = random.Random(seed)
    odd, even = draw.choice((3, 5, 7, 9)), draw.choice((6, 12, 24))
    large, barely = draw.choice((16, 32, 64)), draw.choice((5, 9, 17))

    def case(algorithm: str, world_size: int, rest: int = 0) -> CostCase:
        return CostCase(algorithm, world_size, 4 * (world_size * draw.randrange(1_000, 9_000) + rest))

    return (
        *(case(algorithm, 8) for algorithm in ALGORITHMS),
        *(case("naive", world_size) for world_size in (odd, large)),
        *(case("tree", world_size) for world_size in (odd, even, large, barely)),
        *(case("butterfly", world_size) for world_size in (2, 4, large)),
        *(case("ring", world_size) for world_size in (2, odd, even)),
        case("ring", barely, rest=draw.randrange(1, 4)),
    )

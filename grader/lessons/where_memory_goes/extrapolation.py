"""Models with many layers whose peak is asked for, and small ones of the same kind that may be forecast."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True)
class ExtrapolationCase:
    """A kind of model, two small members of it, and the member that is asked for.

    Attributes:
        few: Layers of the smaller small model.
        more: Layers of the larger small model.
        layers: Layers of the model that is asked for.
        few_bytes: Peak of the smaller small model.
        more_bytes: Peak of the larger small model.
    """

    few: int
    more: int
    layers: int
    few_bytes: int
    more_bytes: int


BERT_LARGE = ExtrapolationCase(few=2, more=4, layers=24, few_bytes=1_472_389_356, more_bytes=2_479_407_468)
"""BERT-large by the vanilla recipe.

Source: forecast_peak_memory(bert_large_recipe(layers=...), operators="cpu"). A model of one layer is not on the line:
its peak is in the update and not in backward.
"""


def extrapolation_cases(seed: int) -> tuple[ExtrapolationCase, ...]:
    """Return four settings: BERT-large, small models three or five layers apart, and a model smaller than both."""
    draw = random.Random(seed)
    few = draw.randrange(4, 7)
    return (
        BERT_LARGE,
        _case(3, 8, draw.randrange(30, 60), _bytes(draw, 300, 900), _bytes(draw, 20, 90)),
        _case(1, 4, draw.randrange(10, 20), _bytes(draw, 900, 1500), _bytes(draw, 90, 300)),
        _case(few, few + 3, draw.randrange(2, few), _bytes(draw, 200, 500), _bytes(draw, 100, 200)),
    )


def _case(few: int, more: int, layers: int, fixed_bytes: int, layer_bytes: int) -> ExtrapolationCase:
    """Draw a kind of model from what its members share and what one layer adds."""
    return ExtrapolationCase(few, more, layers, fixed_bytes + few * layer_bytes, fixed_bytes + more * layer_bytes)


def _bytes(draw: random.Random, low_mib: int, high_mib: int) -> int:
    """Return a whole number of float32 numbers, in bytes."""
    return 4 * draw.randrange(low_mib * 2**18, high_mib * 2**18)

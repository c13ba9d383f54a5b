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
        fixed_bytes: Held at the peak whatever the number of layers.
        layer_bytes: Held at the peak for each layer.
    """

    few: int
    more: int
    layers: int
    fixed_bytes: int
    layer_bytes: int

    def peak_bytes(self, layers: int) -> int:
        """Return the peak of a model with so many layers."""
        return self.fixed_bytes + layers * self.layer_bytes


BERT_LARGE = ExtrapolationCase(few=2, more=4, layers=24, fixed_bytes=465_371_244, layer_bytes=503_509_056)
"""BERT-large by the vanilla recipe: 1,472,389,356 bytes with 2 layers, 2,479,407,468 with 4, 12,549,588,588 with 24.

Source: forecast_peak_memory(bert_large_recipe(layers=...), operators="cpu"). A model of one layer is not on the line:
its peak is in the update and not in backward.
"""


def extrapolation_cases(seed: int) -> tuple[ExtrapolationCase, ...]:
    """Return four settings: BERT-large, small models three or five layers apart, and a model smaller than both."""
    draw = random.Random(seed)
    few = draw.randrange(4, 7)
    return (
        BERT_LARGE,
        ExtrapolationCase(3, 8, draw.randrange(30, 60), _bytes(draw, 300, 900), _bytes(draw, 20, 90)),
        ExtrapolationCase(1, 4, draw.randrange(10, 20), _bytes(draw, 900, 1500), _bytes(draw, 90, 300)),
        ExtrapolationCase(few, few + 3, draw.randrange(2, few), _bytes(draw, 200, 500), _bytes(draw, 100, 200)),
    )


def _bytes(draw: random.Random, low_mib: int, high_mib: int) -> int:
    """Return a whole number of float32 numbers, in bytes."""
    return 4 * draw.randrange(low_mib * 2**18, high_mib * 2**18)

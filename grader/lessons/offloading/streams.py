"""Models whose layers are streamed over a link, for a prediction of peak and time."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True)
class StreamedModel:
    """A model whose weights are in far memory.

    Attributes:
        layer_bytes: Bytes of the weights of each layer, in the order of forward.
        forward_seconds: Time of each layer's forward; its backward takes twice as long.
        bytes_per_second: Rate of the link.
        prefetch: Whether the next layer is fetched while one computes.
    """

    layer_bytes: tuple[int, ...]
    forward_seconds: tuple[float, ...]
    bytes_per_second: float
    prefetch: bool


def streamed_models(seed: int) -> tuple[StreamedModel, ...]:
    """Return seven models: bound by the link, by compute or by both in turn, and one of a single layer.

    The two largest layers of each are never neighbours, and the largest is neither the first nor the last.
    """
    draw = random.Random(seed)
    models = []
    for layers, prefetch, scale in ((5, False, 1.0), (5, True, 1.0), (6, True, 0.2), (7, True, 3.0), (6, False, 2.0)):
        sizes = [draw.randrange(40, 60) * 1_000_000 for _ in range(layers)]
        large = draw.randrange(2, layers - 2)  # the other large one is first
        sizes[large], sizes[0] = draw.randrange(150, 180) * 1_000_000, draw.randrange(100, 120) * 1_000_000
        seconds = [scale * draw.randrange(2, 9) / 1000 for _ in range(layers)]
        models.append(StreamedModel(tuple(sizes), tuple(seconds), draw.choice((8e9, 10e9, 12.5e9)), prefetch))
    one = draw.randrange(100, 200) * 1_000_000
    models += [StreamedModel((one,), (draw.randrange(2, 9) / 1000,), 10e9, prefetch) for prefetch in (True, False)]
    return tuple(models)

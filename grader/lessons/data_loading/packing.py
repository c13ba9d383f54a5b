"""Short texts that are packed into one sequence, and the model that reads them."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from grader.device import lesson_device
from grader.observing.contract import fail, require_tensor
from grader.testbed.transformer import SmallTransformer, make_transformer

VOCABULARY, LONGEST = 50, 32
PARTS = ("tokens", "positions", "mask", "targets")


@dataclass(frozen=True)
class PackingCase:
    """Texts for one packed sequence.

    Attributes:
        lengths: Tokens of each text.
        time: Positions of the packed sequence.
        seed: Seed of tokens and weights.
    """

    lengths: tuple[int, ...]
    time: int
    seed: int

    def draw(self) -> list[Tensor]:
        """Draw the tokens of each text, [time]; one is 0, as padding is."""
        generator = torch.Generator().manual_seed(self.seed)
        rows = [torch.randint(1, VOCABULARY, (length,), generator=generator) for length in self.lengths]
        for row in rows:
            row[len(row) // 2] = 0
        return rows

    def make_model(self) -> SmallTransformer:
        """Build a language model whose matrices are so large that positions and neighbours matter."""
        model = make_transformer(2, 32, 4, vocabulary=VOCABULARY, context=LONGEST, seed=self.seed)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.mul_(8 if parameter.dim() > 1 else 1)
        return model.eval()


def packing_cases(seed: int) -> tuple[PackingCase, ...]:
    """Three texts with room left, texts of which one has a single token and none is left, and one text alone."""
    draw = random.Random(seed)
    lengths = (draw.randrange(3, 8), 1, draw.randrange(3, 8), draw.randrange(2, 9))
    alone = draw.randrange(5, 9)
    return (
        PackingCase((5, 3, 4), 14, seed),
        PackingCase(lengths, sum(lengths), seed + 1),
        PackingCase((alone,), alone + draw.randrange(2, 5), seed + 2),
    )


def run_packing(pack_rows: Callable[..., Any], case: PackingCase) -> dict[str, Tensor]:
    """Pack the texts of a case, and run the model on the result; return the four tensors and the logits."""
    device = lesson_device()
    rows = [row.to(device) for row in case.draw()]
    packed = pack_rows(rows, case.time)
    if not isinstance(packed, tuple | list) or len(packed) != len(PARTS):
        found = "None" if packed is None else f"{type(packed).__name__}: {packed!r}"[:80]
        expected = "four tensors: tokens, positions, mask, targets"
        look_at = "You do not return four values. Look at the docstring."
        fail("returned_none" if packed is None else "no_four_tensors", expected, found, look_at)
    values = {}
    for part, value in zip(PARTS, packed, strict=True):
        is_mask = part == "mask"
        like = torch.zeros(1, dtype=torch.bool if is_mask else torch.int64, device=device)
        shape = (case.time, case.time) if is_mask else (case.time,)
        values[part] = require_tensor(value, part, shape=shape, like=like)
    tokens, positions = values["tokens"].clamp(0, VOCABULARY - 1), values["positions"].clamp(0, LONGEST - 1)
    with torch.no_grad():
        logits = case.make_model().to(device)(tokens[None], positions, values["mask"])[0]
    return {name: value.cpu() for name, value in (values | {"logits": logits}).items()}

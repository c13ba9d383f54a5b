"""Training steps of small transformers whose FLOPs are asked for."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True)
class StepCase:
    """The shapes of one training step of the small transformer.

    Attributes:
        layers: Blocks.
        width: Features of a position.
        heads: Attention heads in a block.
        vocabulary: Scores for each position.
        batch: Sequences.
        time: Positions of a sequence.
        is_checkpointed: Whether each block is checkpointed.
    """

    layers: int
    width: int
    heads: int
    vocabulary: int
    batch: int
    time: int
    is_checkpointed: bool

    @property
    def arguments(self) -> tuple[int | bool, ...]:
        """The arguments of the learner's function, in order."""
        return (self.layers, self.width, self.heads, self.vocabulary, self.batch, self.time, self.is_checkpointed)


def step_cases(seed: int) -> tuple[StepCase, ...]:
    """Three steps: the notebook's, one sequence much longer than the model is wide, and one that is checkpointed."""
    draw = random.Random(seed)
    narrow = 32 * draw.randrange(1, 3)
    wide = 48 * draw.randrange(2, 5)
    return (
        StepCase(2, 128, 4, 320, 2, 48, False),
        StepCase(draw.randrange(3, 6), narrow, 2, 8 * draw.randrange(5, 12), 1, 8 * narrow, False),
        StepCase(draw.randrange(3, 6), wide, 6, 100 * draw.randrange(5, 12), 3, 40, True),
    )

"""Sentence pairs that are trained on with Accelerate and with the Trainer."""

from __future__ import annotations

import random

from grader.lessons.three_forms.loop import RunCase


def forms_cases(seed: int) -> tuple[RunCase, ...]:
    """Return two settings: one epoch of full batches, and two epochs with a short last batch.

    No update has 8 rows, the Trainer's default. Rows of an update are odd in number:
    the labels alternate, and with as many of one as of the other the gradients nearly cancel, so no clipping shows.
    """
    draw = random.Random(seed + 2)
    full_rows, full_updates = draw.choice((3, 5)), draw.randrange(4, 8)
    rows, updates = draw.choice((5, 7, 9)), draw.randrange(2, 4)
    return (
        RunCase(full_updates * full_rows, full_rows, 1, seed + 5),
        RunCase(updates * rows + draw.randrange(1, rows), rows, 2, seed + 6),
    )

"""Names a ring by how it shares the elements out, and by how its steps depend on the number of ranks."""

from __future__ import annotations

import torch

from grader.judging.lessons.collectives.explained import Explained
from grader.judging.lessons.collectives.runs import Run
from grader.ranks.traffic import SEND

FIRST_RANKS = 4  # what a ring is judged on first, and what a learner has tried


def chunk_lengths(run: Run) -> list[int]:
    """Return how many elements each piece has by `torch.chunk`, which may make fewer pieces than ranks."""
    return [len(piece) for piece in torch.arange(run.case.elements).chunk(run.ranks)]


def is_chunk_used(run: Run) -> bool:
    """Return whether the pieces that were sent are those of `torch.chunk`, where `tensor_split` makes others."""
    lengths, size = chunk_lengths(run), run.case.inputs().element_size()
    sent = {length // size for one in run.traffic for kind, _, length in one.events if kind == SEND}
    return sent == set(lengths) and max(lengths) - min(lengths) > 1


def explain_chunks(run: Run) -> Explained:
    """Tell pieces of `torch.chunk` from the right ones."""
    *others, last = map(str, chunk_lengths(run))
    look_at = (
        f"the pieces: `chunk` makes {', '.join(others)} and {last} of {run.case.elements}, and fewer than N of "
        "few elements; `tensor_split` always makes N"
    )
    return Explained("chunk_for_tensor_split", look_at)


def explain_fixed_steps(run: Run, *, loops: int) -> Explained | None:
    """Name steps that are right for the number of ranks that is tried first, and not for others."""
    fixed = loops * (FIRST_RANKS - 1)
    if run.ranks in (1, FIRST_RANKS) or any(len(run.destinations(rank)) != fixed for rank in range(run.ranks)):
        return None
    look_at = f"the steps of a loop: right on {FIRST_RANKS} ranks, but {run.ranks} ranks need {run.ranks - 1}"
    return Explained("steps_of_four_ranks", look_at, f"{fixed} messages of each of {run.ranks} ranks")

"""The peak of a model whose blocks are recomputed in part, and how few of them meet the budget."""

from __future__ import annotations

from collections.abc import Collection
from itertools import combinations

from grader.judging.kept import keep_cases
from grader.lessons.gradient_checkpointing.budget import BudgetCase

TERMS = ("work", "inputs", "parameters", "block")  # of a peak: work is the gradient inside the block at work


def peak_bytes(case: BudgetCase, recomputed: Collection[int], *, left_out: str = "") -> int:
    """Return the peak when some blocks are recomputed, each in its own checkpoint.

    Backward comes to the blocks from the last to the first. When it comes to one, all that backward needs of it is
    there, recomputed or not, and of the blocks before it what was kept. Within the block one gradient comes on top,
    half as large as what backward needs of it.

    Args:
        case: The model.
        recomputed: Blocks that run twice.
        left_out: What is not counted, out of `TERMS`, to see what a misconception changes; "" for nothing.

    Returns:
        Bytes, with the gradients of all parameters: an upper limit, those of early blocks come last.
    """
    fullest = kept = 0
    for index, own_bytes in enumerate(case.kept_bytes):
        inputs = 0 if left_out == "inputs" else index + 1  # up to here; one more boundary is the output
        at_work = {"work": 1.0, "block": 0.0}.get(left_out, 1.5) * own_bytes
        fullest = max(fullest, (inputs + 1) * case.boundary_bytes + kept + int(at_work))
        kept += 0 if index in recomputed else own_bytes
    return fullest + (0 if left_out == "parameters" else case.fixed_bytes)


def lowest_peak_bytes(case: BudgetCase, recomputed: int) -> int:
    """Return the lowest peak that so many recomputed blocks reach."""
    return min(peak_bytes(case, chosen) for chosen in combinations(range(len(case.kept_bytes)), recomputed))


@keep_cases
def fewest_recomputed(case: BudgetCase) -> int:
    """Return how few recomputed blocks meet the budget."""
    counts = range(len(case.kept_bytes) + 1)
    return next(count for count in counts if lowest_peak_bytes(case, count) <= case.budget_bytes)

"""Names why an epoch on several ranks is not right: whose micro-batches, how many in a group, which of them silent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from grader.judging.forms import count
from grader.judging.lessons.data_parallel.reports import Facts
from grader.lessons.data_parallel.accumulation import AccumulationCase
from grader.verdict import Verdict

# Verdicts on one process that may have a cause in what the ranks do together.
EXPLAINED = ("other_gradient", "gradient_scaled", "divided_by_another_number", "gradient_divided_twice")


def name_places(
    verdict: Verdict, cases: Sequence[AccumulationCase], places: Sequence[Sequence[Sequence[int]]]
) -> Verdict:
    """Name a wrong size of the groups by the updates of all settings.

    Args:
        verdict: On one rank of one setting.
        cases: The settings.
        places: For each setting and rank, how many forwards lie before each update.
    """
    if verdict.code == "one_update_only":
        return replace(verdict, look_at="k of this rank's micro-batches make one update: how many has one epoch?")
    if verdict.code not in ("k_taken_for_updates", "update_every_micro_batch", "updates_misplaced"):
        return verdict
    for case, ranks in zip(cases, places, strict=True):
        size = max(1, case.k // case.world_size)
        ends = [min(end, case.micro_batches) for end in range(size, case.micro_batches + size, size)]
        if any(list(own) != ends for own in ranks):
            return verdict
    return replace(
        verdict, code="k_divided_by_ranks", look_at="k counts the micro-batches of one rank: who divides it?"
    )


def name_silence(verdict: Verdict, facts: Facts, case: AccumulationCase) -> Verdict:
    """Name the reason why ranks did not average, by which forwards of the wrapper were to be synchronised."""
    flags: Sequence[bool] = facts["is_synchronised"]
    if verdict.code == "ranks_not_averaged" and not flags and not facts["ddp_made"]:
        look_at = "model.module skips DistributedDataParallel: call model itself"
        return replace(verdict, code="wrapper_bypassed", look_at=look_at)
    if verdict.code == "ranks_not_averaged" and flags and not any(flags):
        look_at = "the last micro-batch of a group: its forward and backward stand outside of no_sync"
        return replace(verdict, code="always_silent", look_at=look_at)
    if verdict.code == "ranks_not_averaged_later":
        look_at = "the last group may be shorter: which is its last micro-batch?"
        return replace(verdict, code="short_group_silent", look_at=look_at)
    first = list(flags[: case.k])
    if verdict.code in EXPLAINED and len(first) > 1 and all(first[:-1]) and not first[-1]:
        look_at = "the condition of no_sync: it is for all micro-batches of a group but the last"
        return replace(
            verdict, code="last_one_silent", measured="no_sync at the last micro-batch only", look_at=look_at
        )
    if verdict.code in EXPLAINED and len(first) > 1 and any(first) and not first[-1]:
        measured = f"an all-reduce at micro-batch {first.index(True) + 1} of {len(first)}, and none at the last"
        look_at = "what comes after the all-reduce stays on its rank: which micro-batch of a group is the last?"
        return replace(verdict, code="synchronised_too_early", measured=measured, look_at=look_at)
    return verdict


def judge_idle_ranks(reports: Sequence[Facts]) -> Verdict | None:
    """Judge ranks that make no update, where others make some."""
    idle = [rank for rank, facts in enumerate(reports) if "update" not in facts["events"]]
    if not idle or len(idle) == len(reports):
        return None
    look_at = "every rank has a model of its own to update: which condition stands before optimizer.step()?"
    measured = f"no update on rank {', '.join(map(str, idle))} of {len(reports)}"
    return Verdict("rank_without_update", "updates on every rank", measured, look_at)


def judge_rows(case: AccumulationCase, reports: Sequence[Facts]) -> Verdict | None:
    """Judge which micro-batches each rank ran; a forward of a whole group is told by its rows."""
    seen = [[index for rows in facts["seen"] for index in rows] for facts in reports]
    right = _rows_by(lambda rank, size, own: range(rank, size * own, size), case)
    if seen == right or any(rows > case.rows for facts in reports for rows in facts["forward_rows"]):
        return None
    rank = next(rank for rank in range(case.world_size) if seen[rank] != right[rank])
    if any(-1 in numbers for numbers in seen):
        return _judge_unknown(case, reports)
    expected = f"micro-batches {_few(right[rank])} on rank {rank} of {case.world_size}"
    measured = f"micro-batches {_few(seen[rank])}" if seen[rank] else "no forward"
    code, look_at = _explain_rows(case, seen, right)
    return Verdict(code, expected, measured, look_at)


def _rows_by(rule: Callable[[int, int, int], Sequence[int]], case: AccumulationCase) -> list[list[int]]:
    """Return the micro-batches of each rank by a rule of rank, number of ranks, and micro-batches of a rank."""
    return [list(rule(rank, case.world_size, case.micro_batches)) for rank in range(case.world_size)]


def _explain_rows(case: AccumulationCase, seen: list[list[int]], right: list[list[int]]) -> tuple[str, str]:
    full = case.micro_batches - case.micro_batches % case.k
    for rule, code, look_at in (
        (lambda rank, size, own: (), "no_forward", "the loop: does it call model?"),
        (
            lambda rank, size, own: range(case.k),
            "first_group_only",
            "the rest of the list, and this rank's share of it",
        ),
        (
            lambda rank, size, own: range(size * own),
            "all_rows_on_every_rank",
            "every rank goes through all micro-batches: which are this rank's?",
        ),
        (lambda rank, size, own: range(0, size * own, size), "same_rows_on_every_rank", _SAME),
        (lambda rank, size, own: range(own), "same_rows_on_every_rank", _SAME),
        (
            lambda rank, size, own: range(rank * own, (rank + 1) * own),
            "rows_in_one_piece",
            "rank r has every world_size-th micro-batch, from r on",
        ),
        (
            lambda rank, size, own: range(rank, size * own, size)[:full],
            "last_group_lost",
            "the micro-batches after the last full group",
        ),
        (lambda rank, size, own: right[rank] * 2, "epoch_repeated", "one epoch is asked for: how often does it run?"),
    ):
        if seen == _rows_by(rule, case):
            return code, look_at
    if all(_is_filled_up(rows, own, case.k) for rows, own in zip(seen, right, strict=True)):
        return "short_group_filled", "rows that are repeated to fill the last group: it may be shorter, and stays so"
    if [sorted(rows) for rows in seen] == right:
        return "rows_in_another_order", "the order of this rank's micro-batches"
    return "other_rows", "which micro-batches are this rank's: every world_size-th, from number rank on"


def _is_filled_up(seen: Sequence[int], own: Sequence[int], k: int) -> bool:
    """Whether the micro-batches of a rank are followed by some of them again, up to a full group."""
    full, extra = -(-len(own) // k) * k, seen[len(own) :]
    return list(seen[: len(own)]) == list(own) and len(own) < len(seen) == full and set(extra) <= set(own)


_SAME = "all ranks train on the same micro-batches: where does rank come in?"


def _judge_unknown(case: AccumulationCase, reports: Sequence[Facts]) -> Verdict:
    """Judge forwards of inputs that no micro-batch of the list has."""
    sizes = sorted({rows for facts in reports for rows in facts["forward_rows"]})
    expected = f"forwards of whole micro-batches, of {case.rows} rows each"
    measured = f"forwards of {', '.join(map(str, sizes))} rows that are no micro-batch of the list"
    if sizes[-1] < case.rows:
        look_at = "each micro-batch goes to one rank as a whole: its rows are not shared out"
        return Verdict("rows_split_over_ranks", expected, measured, look_at)
    look_at = "what model is called with: the inputs of one micro-batch, as they are"
    return Verdict("other_inputs", expected, measured, look_at)


def _few(numbers: Sequence[int]) -> str:
    shown = ", ".join(map(str, numbers[:8]))
    return f"{shown}, ... ({count(len(numbers), 'forward')})" if len(numbers) > 8 else shown

"""Verdict on the first half of the ring: each rank ends with the sum of one chunk."""

from __future__ import annotations

from torch import Tensor

from grader.cases.collectives import ReductionCase, shard_cases
from grader.judges.collectives.ring import judge_ring
from grader.judges.collectives.runs import Run, differs, rounding_of, runs_of, stopped
from grader.judges.collectives.sums import Explained, judge_values
from grader.observation import Observation
from grader.verdict import PASSED, Verdict


def judge_ring_shards(observation: Observation, seed: int) -> Verdict:
    """Compare the chunk of every rank, and what was sent for it."""
    runs = runs_of(observation, shard_cases(seed))
    wrong = judge_values(runs, _explain, expect=shards, what="chunk of the sum that has the rank's number")
    wrong = wrong or next(filter(None, map(_judge_run, runs)), None) or stopped(observation)
    if wrong:
        return wrong
    first = runs[0]
    share = max(one.sent_bytes for one in first.traffic) / first.tensor_bytes
    return Verdict(PASSED, "a chunk of the sum", f"{first.rounds} rounds on 4 ranks, each sends {share:g} tensors")


def shards(case: ReductionCase) -> list[Tensor]:
    """Return the chunk of the sum that each rank has to return."""
    return list(case.inputs().double().sum(0).flatten().tensor_split(case.world_size))


def _judge_run(run: Run) -> Verdict | None:
    wrong = judge_ring(run, loops=1)
    if wrong and wrong.code == "messages_too_many":
        look_at = "the second half of the ring: nobody needs the other chunks here"
        return Verdict("whole_sum_made", wrong.expected, wrong.measured, look_at)
    return wrong


def _explain(run: Run) -> Explained | None:
    wanted, ranks, limit = shards(run.case), run.ranks, rounding_of(run.case)
    total = run.case.inputs().double().sum(0)
    if not any(one.events for one in run.traffic):
        return "nothing_sent", "no rank sent anything: which line calls send?"
    if all(value.numel() == total.numel() for value in run.returned):
        if all(not differs(value.flatten(), total.flatten(), limit) for value in run.returned):
            return "whole_sum_returned", "what is returned: one chunk, that of the rank's number"
        return "whole_tensor_returned", "what is returned: one chunk, that of the rank's number, and nothing else"
    if any(value.dim() != 1 for value in run.returned):
        return "chunk_not_flat", "the shape of what is returned: a chunk of the flattened tensor has one dimension"
    for shift, who in ((1, "right"), (-1, "left")):
        if all(not differs(run.returned[rank], wanted[(rank + shift) % ranks], limit) for rank in range(ranks)):
            return "neighbours_chunk", f"each rank ends with the chunk of its {who} neighbour: where does it start?"
    return None

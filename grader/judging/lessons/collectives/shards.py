"""Verdict on the first half of the ring: each rank ends with the sum of one chunk."""

from __future__ import annotations

from torch import Tensor

from grader.judging.lessons.collectives.explained import Explained
from grader.judging.lessons.collectives.ring import judge_ring
from grader.judging.lessons.collectives.ring_chunks import chunk_lengths, explain_chunks, explain_fixed_steps
from grader.judging.lessons.collectives.ring_recipes import RIGHT
from grader.judging.lessons.collectives.runs import Run, describe, differs, rounding_of, runs_of, stopped
from grader.judging.lessons.collectives.sums import judge_values
from grader.lessons.collectives.reductions import ReductionCase, shard_cases
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
        if any(len(run.destinations(rank)) < 2 * (run.ranks - 1) for rank in range(run.ranks)):
            return Verdict("loop_too_long", wrong.expected, wrong.measured, _look_at_steps(run, "many"))
        look_at = "the second half of the ring: nobody needs the other chunks here"
        return Verdict("whole_sum_made", wrong.expected, wrong.measured, look_at)
    return wrong


def _explain(run: Run) -> Explained | None:
    wanted, ranks, limit = shards(run.case), run.ranks, rounding_of(run.case)
    total = run.case.inputs().double().sum(0)
    if not any(one.events for one in run.traffic):
        return Explained("nothing_sent", "no rank sent anything: which line calls send?")
    if all(value.numel() == total.numel() for value in run.returned):
        if all(not differs(value.flatten(), total.flatten(), limit) for value in run.returned):
            return Explained("whole_sum_returned", "what is returned: one chunk, that of the rank's number")
        look_at = "what is returned: one chunk, that of the rank's number, and nothing else"
        return Explained("whole_tensor_returned", look_at)
    if any(value.dim() != 1 for value in run.returned):
        look_at = "the shape of what is returned: a chunk of the flattened tensor has one dimension"
        shapes = f"shape {tuple(run.returned[0].shape)} on rank 0, {describe(run.case)}"
        return Explained("chunk_not_flat", look_at, shapes)
    lengths = chunk_lengths(run)
    if [len(value) for value in run.returned] == lengths != [len(value) for value in wanted]:
        return explain_chunks(run)
    for shift, who in ((1, "right"), (-1, "left")):
        if all(not differs(run.returned[rank], wanted[(rank + shift) % ranks], limit) for rank in range(ranks)):
            look_at = f"each rank ends with the chunk of its {who} neighbour: where does it start?"
            return Explained("neighbours_chunk", look_at)
    return explain_fixed_steps(run, loops=1) or _explain_steps(run)


def _explain_steps(run: Run) -> Explained | None:
    """Name a loop of another length, or a chunk that is returned and is not the finished one."""
    steps, sent = run.ranks - 1, [len(run.destinations(rank)) for rank in range(run.ranks)]
    if len(set(sent)) > 1 or run.case.elements < run.ranks:
        return None
    if sent[0] != steps:
        code, word = ("loop_too_short", "few") if sent[0] < steps else ("loop_too_long", "many")
        look_at = _look_at_steps(run, word)
        return Explained(
            code, look_at, f"{sent[0]} messages of each rank, where {steps} are needed, {describe(run.case)}"
        )
    own = [bool((value == run.case.inputs()[rank].flatten()[0]).all()) for rank, value in enumerate(run.returned)]
    if run.case.is_counting and all(own) and [list(one) for one in run.first_numbers] == _sent_in_first_half(run.ranks):
        look_at = "which chunk is finished: rank r of the ring finishes chunk r + 1, so shift all chunk numbers here"
        measured = f"right messages, and a chunk on each rank that has only its own numbers, {describe(run.case)}"
        return Explained("unfinished_chunk_returned", look_at, measured)
    return None


def _look_at_steps(run: Run, word: str) -> str:
    return f"the steps of the loop: too {word}. A chunk meets all {run.ranks} ranks in {run.ranks - 1} moves"


def _sent_in_first_half(ranks: int) -> list[list[float]]:
    return [[float(number) for number in sent[: ranks - 1]] for sent in RIGHT.run(ranks)[1]]

"""Verdicts on the ring: its sums, and what each rank sent to whom."""

from __future__ import annotations

from collections.abc import Sequence

from grader.judging.lessons.collectives.explained import Explained
from grader.judging.lessons.collectives.patterns import (
    explain_pattern,
    explain_sizes,
    judge_equal_bits,
    judge_unread,
    judge_waiting,
)
from grader.judging.lessons.collectives.ring_chunks import explain_chunks, explain_fixed_steps, is_chunk_used
from grader.judging.lessons.collectives.ring_recipes import recognise_ring
from grader.judging.lessons.collectives.runs import Run, describe, runs_of, stopped
from grader.judging.lessons.collectives.sums import judge_values
from grader.lessons.collectives.reductions import ring_cases
from grader.observation import Observation
from grader.units import format_bytes
from grader.verdict import PASSED, Verdict


def judge_ring_sums(observation: Observation, seed: int) -> Verdict:
    """Compare the sums of every rank."""
    runs = runs_of(observation, ring_cases(seed))
    wrong = judge_values(runs, explain_ring) or judge_stop(observation, runs, loops=2)
    if wrong:
        return wrong
    numbers = " and ".join(dict.fromkeys(str(run.ranks) for run in runs))
    return Verdict(PASSED, "the sum on every rank", f"{len(runs)} sums on {numbers} ranks, uneven chunks among them")


def judge_ring_traffic(observation: Observation, seed: int) -> Verdict:
    """Compare neighbours, messages, bytes and rounds with a ring of chunks."""
    runs = runs_of(observation, ring_cases(seed))
    wrong = judge_values(runs, explain_ring) or judge_stop(observation, runs, loops=2)
    wrong = wrong or judge_rings(runs, loops=2) or judge_equal_bits(runs)
    if wrong:
        return wrong
    first = runs[0]
    share = max(one.sent_bytes for one in first.traffic) / first.tensor_bytes
    return Verdict(PASSED, "a ring of chunks", f"{first.rounds} rounds on 4 ranks, each sends {share:g} tensors")


def explain_ring(run: Run) -> Explained | None:
    """Name the mistake behind wrong sums."""
    if run.ranks > 1 and not any(one.events for one in run.traffic):
        return Explained("nothing_sent", "no rank sent anything: which line calls send?")
    mistake = recognise_ring(run)
    if mistake:
        return Explained(mistake.code, mistake.look_at)
    if run.ranks > 1 and run.case.elements % run.ranks == 0:
        return explain_sizes(run, run.chunk_bytes)
    return explain_fixed_steps(run, loops=2)


def judge_stop(observation: Observation, runs: Sequence[Run], *, loops: int) -> Verdict | None:
    """Tell what ended the observation, unless the rings before it were none and so say more."""
    stop = stopped(observation)
    if stop is None:
        return None
    uneven = next(filter(is_chunk_used, runs), None)
    if uneven and stop.code == "raised_index_error":
        chunks = explain_chunks(uneven)
        return Verdict(chunks.code, stop.expected, stop.measured, chunks.look_at)
    return judge_rings(runs, loops=loops) or stop


def judge_rings(runs: Sequence[Run], *, loops: int) -> Verdict | None:
    """Find the first run that is no ring; arguments as `judge_ring` has them."""
    return next(filter(None, (judge_ring(run, loops=loops) for run in runs)), None)


def judge_ring(run: Run, *, loops: int) -> Verdict | None:
    """Find what is no ring in a run: whom the ranks talked to, how much each sent, and how long they waited.

    Args:
        run: What was seen.
        loops: How often the chunks go round: 2 for an all-reduce, 1 for half of it.
    """
    steps = loops * (run.ranks - 1)
    expected = f"{steps} messages of one chunk from each rank to its right neighbour, {describe(run.case)}"
    for rank in range(run.ranks):
        right, left = (rank + 1) % run.ranks, (rank - 1) % run.ranks
        sent, received = run.destinations(rank), run.sources(rank)
        if not set(sent) <= {right} or not set(received) <= {left} or (run.case.elements >= run.ranks > 1 and not sent):
            pattern = explain_pattern(run)
            measured = f"rank {rank} sent to {sent} and received from {received}"
            return Verdict(pattern.code, expected, measured, pattern.look_at)
    wrong = _judge_sizes(run) or _judge_number(run, loops, expected)
    return wrong or judge_waiting(run, steps, expected)


def _judge_sizes(run: Run) -> Verdict | None:
    largest = run.largest_message()
    if largest > run.chunk_bytes:
        wanted = f"messages of at most {format_bytes(run.chunk_bytes)}: one chunk of {describe(run.case)}"
        measured = f"a message of {format_bytes(largest)}"
        if largest >= run.tensor_bytes:
            look_at = "what a rank passes on: a whole tensor at each step makes N - 1 tensors, not 2 (N - 1) / N"
            return Verdict("tensor_not_chunked", wanted, measured, look_at)
        if largest == run.rows_bytes:
            look_at = "rows are shared out: tensor_split cuts the first dimension, so flatten the tensor first"
            return Verdict("rows_shared_out", wanted, measured, look_at)
        look_at = "how the elements are shared out: no two chunks differ by more than one element"
        return Verdict("chunks_uneven", wanted, measured, look_at)
    return None


def _judge_number(run: Run, loops: int, expected: str) -> Verdict | None:
    most = max(len(run.destinations(rank)) for rank in range(run.ranks))
    unread = judge_unread(run)
    if unread or most <= loops * (run.ranks - 1):
        return unread
    look_at = "how many steps the loops have: what has a rank still to tell after the last of them?"
    found = explain_fixed_steps(run, loops=loops) or recognise_ring(run) or Explained("messages_too_many", look_at)
    return Verdict(found.code, expected, f"{most} messages of one rank", found.look_at)

"""Verdicts on the ring: its sums, and what each rank sent to whom."""

from __future__ import annotations

from grader.cases.collectives import ring_cases
from grader.judges.collectives.patterns import explain_pattern, judge_messages
from grader.judges.collectives.ring_recipes import recognise_ring
from grader.judges.collectives.runs import Run, describe, runs_of, stopped
from grader.judges.collectives.sums import Explained, judge_equal_bits, judge_values
from grader.observation import Observation
from grader.units import format_bytes
from grader.verdict import PASSED, Verdict


def judge_ring_sums(observation: Observation, seed: int) -> Verdict:
    """Compare the sums of every rank."""
    runs = runs_of(observation, ring_cases(seed))
    wrong = judge_values(runs, explain_ring) or stopped(observation)
    if wrong:
        return wrong
    numbers = " and ".join(dict.fromkeys(str(run.ranks) for run in runs))
    return Verdict(PASSED, "the sum on every rank", f"{len(runs)} sums on {numbers} ranks, uneven chunks among them")


def judge_ring_traffic(observation: Observation, seed: int) -> Verdict:
    """Compare neighbours, messages, bytes and rounds with a ring of chunks."""
    runs = runs_of(observation, ring_cases(seed))
    wrong = judge_values(runs, explain_ring) or stopped(observation)
    wrong = wrong or next(filter(None, (judge_ring(run, loops=2) for run in runs)), None) or judge_equal_bits(runs)
    if wrong:
        return wrong
    first = runs[0]
    share = max(one.sent_bytes for one in first.traffic) / first.tensor_bytes
    return Verdict(PASSED, "a ring of chunks", f"{first.rounds} rounds on 4 ranks, each sends {share:g} tensors")


def explain_ring(run: Run) -> Explained | None:
    """Name the mistake behind wrong sums."""
    if run.ranks > 1 and not any(one.events for one in run.traffic):
        return "nothing_sent", "no rank sent anything: which line calls send?"
    mistake = recognise_ring(run)
    return (mistake.code, mistake.look_at) if mistake else None


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
            code, look_at = explain_pattern(run)
            return Verdict(code, expected, f"rank {rank} sent to {sent} and received from {received}", look_at)
    return _judge_sizes(run, steps, expected) or judge_messages(run, steps, expected)


def _judge_sizes(run: Run, steps: int, expected: str) -> Verdict | None:
    largest, most = run.largest_message(), max(len(run.destinations(rank)) for rank in range(run.ranks))
    if largest > run.chunk_bytes:
        wanted = f"messages of at most {format_bytes(run.chunk_bytes)}: one chunk of {describe(run.case)}"
        measured = f"a message of {format_bytes(largest)}"
        if largest >= run.tensor_bytes:
            look_at = "what a rank passes on: a whole tensor at each step makes N - 1 tensors, not 2 (N - 1) / N"
            return Verdict("tensor_not_chunked", wanted, measured, look_at)
        look_at = "how the elements are shared out: no two chunks differ by more than one element"
        return Verdict("chunks_uneven", wanted, measured, look_at)
    if most > steps:
        look_at = "how many steps the loops have: what has a rank still to tell after the last of them?"
        return Verdict("messages_too_many", expected, f"{most} messages of one rank", look_at)
    return None

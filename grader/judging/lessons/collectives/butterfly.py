"""Verdicts on recursive doubling: its sums, and whom each rank talked to."""

from __future__ import annotations

from grader.judging.lessons.collectives.counts import digits_of
from grader.judging.lessons.collectives.explained import Explained
from grader.judging.lessons.collectives.patterns import (
    explain_pattern,
    explain_sizes,
    judge_equal_bits,
    judge_unread,
    judge_waiting,
)
from grader.judging.lessons.collectives.refusal import judge_refusal
from grader.judging.lessons.collectives.runs import Run, describe, runs_of, stopped
from grader.judging.lessons.collectives.sums import judge_values
from grader.lessons.collectives.reductions import BASE, butterfly_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict


def judge_butterfly_sums(observation: Observation, seed: int) -> Verdict:
    """Compare the sums of every rank, bit by bit among ranks."""
    runs = runs_of(observation, butterfly_cases(seed))
    wrong = judge_values(runs, explain_rounds) or stopped(observation) or judge_equal_bits(runs)
    if wrong:
        return wrong
    measured = f"{len(runs)} sums on 8, 4 and 2 ranks, the same bits everywhere"
    return Verdict(PASSED, "the sum on every rank", measured)


def judge_butterfly_rounds(observation: Observation, seed: int) -> Verdict:
    """Compare partners, bytes and rounds with recursive doubling, and look at what three ranks are told."""
    runs = runs_of(observation, butterfly_cases(seed))
    wrong = judge_values(runs, explain_rounds) or stopped(observation)
    wrong = wrong or next(filter(None, map(_judge_run, runs)), None) or judge_refusal(observation, seed)
    if wrong:
        return wrong
    first = runs[0]
    measured = f"{first.rounds} rounds on 8 ranks, {first.traffic[0].sent_bytes} bytes sent by each: 3 tensors"
    return Verdict(PASSED, "recursive doubling", measured)


def distances_of(ranks: int) -> list[int]:
    """Return how far partners are apart, round by round."""
    return [1 << bit for bit in range(ranks.bit_length() - 1)]


def explain_rounds(run: Run) -> Explained | None:
    """Name the mistake behind wrong sums by whom the ranks talked to."""
    if not any(one.events for one in run.traffic):
        if run.ranks == 2:  # judged last: on more ranks the sums were right
            look_at = "on 2 ranks nobody sends: is the condition of your loop true at distance 1?"
            return Explained("nothing_sent_on_two", look_at)
        return Explained("nothing_sent", "no rank sent anything: which line calls send?")
    right = distances_of(run.ranks)
    seen = [rank ^ peer for rank in range(run.ranks) for peer in run.destinations(rank)]
    each = [sorted(rank ^ peer for peer in run.destinations(rank)) for rank in range(run.ranks)]
    if any(one != each[0] for one in each):
        return None
    found = each[0]
    if set(found) < set(right) and len(found) == len(set(found)):
        return _explain_missing(found, right, run)
    if set(found) >= set(right) and len(found) > len(right):
        extra = "twice" if set(found) == set(right) else f"at distances {sorted(set(found) - set(right))} too"
        look_at = f"partners at distances {right} are enough: yours meet {extra}"
        return Explained("round_too_many", look_at)
    if set(seen) != set(right):
        look_at = f"the distance of partners: {right}, one after the other; yours are {found}"
        return Explained("wrong_distances", look_at)
    return _explain_sent(run)


def _explain_missing(found: list[int], right: list[int], run: Run) -> Explained:
    if len(found) == len(right) - 1 and right[-1] not in found:
        look_at = f"the end of the loop: for {run.ranks} ranks the last distance is {right[-1]}"
        return Explained("last_round_missing", look_at)
    if len(found) == len(right) - 1 and right[0] not in found:
        return Explained("first_round_missing", "the first distance: neighbours, 1 apart, never meet")
    return Explained("rounds_missing", f"{len(right)} rounds are needed, at distances {right}: yours are at {found}")


def _explain_sent(run: Run) -> Explained | None:
    """Name what was sent or added wrongly where all partners are right."""
    other_size = explain_sizes(run, run.tensor_bytes)
    if other_size:
        return other_size
    if not run.case.is_counting or run.ranks < 4:
        return None
    held = [float(value.flatten()[0]) for value in run.returned]
    if held == [float(run.ranks * BASE**rank) for rank in range(run.ranks)]:
        look_at = "what is added: what came in, and not once more what this rank holds"
        return Explained("own_sum_doubled", look_at)
    digits = digits_of(held[0], run.ranks)
    direct = [int(rank in (0, *distances_of(run.ranks))) for rank in range(run.ranks)]
    if digits and all(count == (rank == 0) for rank, count in enumerate(digits)):
        return None  # rank 0 has its own number: nothing was added
    if digits == direct:
        look_at = "what is sent in the second round: your own tensor, or all that you hold by then?"
        return Explained("own_tensor_sent", look_at)
    if digits and sum(digits) == 1:
        return Explained("overwritten", "what is received has to be added to what is there")
    return None


def _judge_run(run: Run) -> Verdict | None:
    right = distances_of(run.ranks)
    expected = f"partners {right} apart, {len(right)} rounds, {describe(run.case)}"
    for rank in range(run.ranks):
        partners = sorted(rank ^ distance for distance in right)
        if set(run.destinations(rank)) == set(partners) and len(run.destinations(rank)) > len(partners):
            look_at = "each partner once: how often does a rank send in one round?"
            return Verdict("message_repeated", expected, f"rank {rank} sent to {run.destinations(rank)}", look_at)
        if sorted(run.destinations(rank)) != partners or sorted(run.sources(rank)) != partners:
            pattern = explain_pattern(run)
            measured = f"rank {rank} sent to {run.destinations(rank)} and received from {run.sources(rank)}"
            return Verdict(pattern.code, expected, measured, pattern.look_at)
    sizes = {size for one in run.traffic for _, _, size in one.events}
    if sizes != {run.tensor_bytes}:
        look_at = "what is sent: recursive doubling sends the whole tensor in each round"
        measured = f"messages of {', '.join(map(str, sorted(sizes)))} bytes"
        return Verdict("tensor_not_whole", f"messages of {run.tensor_bytes} bytes", measured, look_at)
    return judge_unread(run) or judge_waiting(run, len(right), expected)

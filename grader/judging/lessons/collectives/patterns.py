"""Names a way to communicate by who sent to whom."""

from __future__ import annotations

from collections.abc import Sequence

from grader.judging.lessons.collectives.explained import Explained
from grader.judging.lessons.collectives.runs import Run, describe, have_equal_bits
from grader.ranks.traffic import SEND
from grader.verdict import UNRECOGNISED, Verdict

ADDING_IN_OWN_ORDER = {"partners_not_mutual", "everybody_to_everybody"}  # so that rounding differs among ranks


def explain_pattern(run: Run) -> Explained:
    """Name what the ranks did where it is not what was asked for."""
    sent = [run.destinations(rank) for rank in range(run.ranks)]
    if not any(sent):
        return Explained("nothing_sent", "send and receive: the sums came another way, or were not made at all")
    for code, look_at, is_so in (
        ("through_a_root", "rank 0 hears from all and tells all: the naive way", _is_through_root(sent)),
        (
            "tree_used",
            "sums go up a tree to rank 0 and come down again: half of the ranks at least send nothing in a round",
            _is_tree(sent),
        ),
        (
            "direct_reduce_scatter",
            "each rank sends a chunk to all others, then the sum of its own: published as butterfly, and none",
            _is_mesh(sent) and run.largest_message() < run.tensor_bytes,
        ),
        (
            "everybody_to_everybody",
            "each rank sends to all others: what does it send that a partner could have added up?",
            _is_mesh(sent),
        ),
        ("ring_used", "each rank sends to its right neighbour: a ring", run.ranks > 2 and _goes_round(sent, 1)),
        ("ring_reversed", "the direction: send to rank + 1, receive from rank - 1", _goes_round(sent, -1)),
        ("partners_not_mutual", "rank + d is no partner of rank: partners swap, as rank ^ d does", _is_one_sided(run)),
        ("butterfly_used", "partners at doubled distances: a butterfly, which sends whole tensors", _is_doubling(sent)),
    ):
        if is_so:
            return Explained(code, look_at)
    return Explained(UNRECOGNISED, "one rank: whom does it send to in each round, and from whom does it receive?")


def explain_sizes(run: Run, right_bytes: int) -> Explained | None:
    """Name the mistake of messages that are too short, where all of them ought to be equally long."""
    short = sorted({size for one in run.traffic for kind, _, size in one.events if kind == SEND and size < right_bytes})
    if not short:
        return None
    look_at = "the bytes of a message: what is sent has the number format of the tensor, and all of its elements"
    measured = f"messages of {' and '.join(map(str, short))} bytes, where {right_bytes} were to be sent"
    return Explained("message_of_other_size", look_at, measured)


def judge_equal_bits(runs: Sequence[Run]) -> Verdict | None:
    """Find ranks whose sums differ by rounding: the order of the additions is not the same everywhere."""
    for run in runs:
        if not have_equal_bits(run.returned):
            first = run.returned[0].double()
            apart = max(float((value.double() - first).abs().max()) for value in run.returned)
            measured = f"sums that are up to {apart:.1e} apart, {describe(run.case)}"
            expected = "the same bits on every rank"
            pattern = explain_pattern(run)
            if pattern.code in ADDING_IN_OWN_ORDER:
                return Verdict(pattern.code, expected, measured, pattern.look_at)
            look_at = "the order of the additions: which rank adds up which element, and does each add it up anew?"
            return Verdict("ranks_differ", expected, measured, look_at)
    return None


def judge_unread(run: Run) -> Verdict | None:
    """Find messages that nobody received."""
    unread = sum(one.unread_messages for one in run.traffic)
    if unread:
        look_at = "each message that is sent is received: which loop goes on for longer, the sending or the receiving?"
        return Verdict("messages_unread", "every message received", f"{unread} messages that nobody received", look_at)
    return None


def judge_waiting(run: Run, rounds: int, expected: str) -> Verdict | None:
    """Find ranks that wait for each other in a row."""
    if run.rounds > rounds:
        look_at = "the order of send and receive: a rank that receives first makes the next one wait"
        return Verdict("one_after_the_other", expected, f"{run.rounds} rounds", look_at)
    return None


def _is_mesh(sent: list[list[int]]) -> bool:
    ranks = set(range(len(sent)))
    return len(sent) > 2 and all(set(peers) == ranks - {rank} for rank, peers in enumerate(sent))


def _is_through_root(sent: list[list[int]]) -> bool:
    others = set(range(1, len(sent)))
    return len(sent) > 2 and set(sent[0]) == others and all(set(peers) <= {0} for peers in sent[1:])


def _is_tree(sent: list[list[int]]) -> bool:
    """Return whether each rank but 0 sends first to the rank without its lowest bit, and only then to others."""
    return len(sent) > 2 and all(peers and peers[0] == rank & (rank - 1) for rank, peers in enumerate(sent) if rank)


def _goes_round(sent: list[list[int]], step: int) -> bool:
    ranks = len(sent)
    return ranks > 2 and all(set(peers) == {(rank + step) % ranks} for rank, peers in enumerate(sent))


def _is_one_sided(run: Run) -> bool:
    ranks = range(run.ranks)
    doubled = {1 << bit for bit in range(run.ranks.bit_length() - 1)}
    return all({(peer - rank) % run.ranks for peer in run.destinations(rank)} == doubled for rank in ranks) or all(
        {(rank - peer) % run.ranks for peer in run.destinations(rank)} == doubled for rank in ranks
    )


def _is_doubling(sent: list[list[int]]) -> bool:
    doubled = {1 << bit for bit in range(len(sent).bit_length() - 1)}
    return all({rank ^ peer for peer in peers} == doubled for rank, peers in enumerate(sent))

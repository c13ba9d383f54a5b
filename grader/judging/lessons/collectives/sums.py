"""Names misconceptions behind what ranks of any collective return, and behind whom they send to."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

import torch

from grader.judging.lessons.collectives.runs import Run, digits_of
from grader.judging.misconceptions import Misconception, Table
from grader.lessons.collectives.reductions import BASE
from grader.verdict import Verdict

MESSAGES = {"send", "recv"}  # point to point by the library, as an observation names them

Routine = Generator[tuple[int, float], float, Any]  # of a rank: yields destination and number, and gets a number


def exchange(start: Callable[[int], Routine], ranks: int) -> tuple[list[Any], list[list[tuple[int, float]]]]:
    """Run routines that all take equally many rounds, one on each rank.

    Args:
        start: Starts the routine of a rank.
        ranks: How many ranks.

    Returns:
        What each rank returns, and what each rank sent.
    """
    routines = [start(rank) for rank in range(ranks)]
    sent: list[list[tuple[int, float]]] = [[] for _ in range(ranks)]
    incoming: dict[int, Any] = dict.fromkeys(range(ranks))
    returned: list[Any] = []
    while not returned:
        for rank, routine in enumerate(routines):
            try:
                sent[rank].append(routine.send(incoming[rank]))
            except StopIteration as end:
                returned.append(end.value)
        incoming = dict(messages[-1] for messages in sent if messages)
    return returned, sent


def judge_values(
    runs: Sequence[Run], explain: Callable[[Run, str, str], Verdict | None], *, what: str = "sum"
) -> Verdict | None:
    """Find what is wrong with the numbers that the ranks returned, or with their input afterwards.

    Args:
        runs: What was seen.
        explain: Names the misconception behind a run with wrong numbers by the algorithm that was to be written; it is
            given the run, what was expected and what was measured.
        what: The name of what is to be returned.
    """
    for run in runs:
        total = f": {say_count(sum(BASE**rank for rank in range(run.ranks)))}, where rank r gives 16**r"
        expected = f"the {what} on each of {run.what}{total if run.case.is_counting else ''}"
        verdict = LIBRARY.judge(run)
        if verdict or not run.is_right:
            measured, otherwise = _say_first_wrong(run), "Follow one element on paper, from its ranks into their sum."
            verdict = verdict or SILENT.judge(run, expected, measured) or explain(run, expected, measured)
            return verdict or VALUES.explain(run, expected=expected, measured=measured, otherwise=otherwise)
    return next(filter(None, map(INPUT.judge, runs)), None)


def judge_equal_bits(runs: Sequence[Run]) -> Verdict | None:
    """Find ranks whose sums differ by rounding: the order of the additions is not the same everywhere."""
    for run in runs:
        first = run.returned[0].double()
        apart = max(float((value.double() - first).abs().max()) for value in run.returned)
        if apart:
            return ORDERS.judge(
                run, "the same bits on every rank", f"sums that are up to {apart:.1e} apart, {run.what}"
            )
    return None


def say_count(value: float) -> str:
    """Write a number as hexadecimal digits where it is whole, the highest rank first."""
    return f"{round(value):#x}" if value >= 0 and float(value).is_integer() else f"{value:g}"


def say_ranks(ranks: Sequence[int]) -> str:
    """Write "rank 2" or "ranks 0 and 2"."""
    *others, last = map(str, ranks)
    return f"ranks {', '.join(others)} and {last}" if others else f"rank {last}"


def say_digits(digits: Sequence[int]) -> str:
    """Write which ranks are missing from a sum, and which are in it more than once."""
    missing = [rank for rank, digit in enumerate(digits) if digit == 0]
    repeated = [rank for rank, digit in enumerate(digits) if digit > 1]
    parts = [f"{say_ranks(missing)} missing"] if missing else []
    if repeated:
        parts.append(f"{say_ranks(repeated)} counted {f'{max(digits)} times' if max(digits) > 2 else 'twice'}")
    return ", ".join(parts)


def say_route(run: Run, rank: int) -> str:
    """Write whom a rank sent to and received from."""
    return f"rank {rank} sent to {run.sent[rank]} and received from {run.received[rank]}"


def _say_first_wrong(run: Run) -> str:
    for rank, (value, right) in enumerate(run.pairs):
        if run.returned[rank].shape != run.wanted[rank].shape:
            return f"shape {tuple(run.returned[rank].shape)} on rank {rank}"
        wrong = (~run.agreeing(value, right)).nonzero().flatten().tolist()
        if wrong:
            said = say_digits(digits_of(float(value[wrong[0]]), run.ranks)) if run.case.is_counting else ""
            number = say_count(float(value[wrong[0]]))
            return f"{number} in element {wrong[0]} on rank {rank}{f' ({said})' if said else ''}"
    return "the right numbers"


def _is_own(run: Run) -> bool:
    return run.case.is_counting and all(bool((value == BASE**rank).all()) for rank, (value, _) in enumerate(run.pairs))


def _factor_of(run: Run) -> float | None:
    """Return the factor between all numbers and the right ones, None where there is no such factor."""
    if not run.case.is_counting or not run.has_right_shapes:
        return None
    value, right = map(torch.cat, zip(*run.pairs, strict=True))
    factor = float(value[0] / right[0])
    return factor if bool(((value - factor * right).abs() <= 1e-9 * right).all()) else None


def _is_one_chunk_right(run: Run) -> bool:
    is_once = run.places.numel() and (run.places.sum(0) == 1).all() and run.places.any(1).all()
    return bool(is_once) and run.ranks > 2


def _is_rest_wrong(run: Run) -> bool:
    even = run.case.elements // run.ranks * run.ranks
    return bool(run.places.numel()) and 0 < even < run.case.elements and bool(run.places[:, :even].all())


def _is_in_other_order(run: Run) -> bool:
    is_sorted_right = (run.agree(value.sort().values, right.sort().values) for value, right in run.pairs)
    return not run.case.is_counting and run.has_right_shapes and all(is_sorted_right)


def _is_mesh(run: Run) -> bool:
    ranks = set(range(run.ranks))
    return run.ranks > 2 and all(set(peers) == ranks - {rank} for rank, peers in enumerate(run.sent))


def _is_through_root(run: Run) -> bool:
    first, *others = run.sent
    return run.ranks > 2 and set(first) == set(range(1, run.ranks)) and all(set(peers) <= {0} for peers in others)


def _is_tree(run: Run) -> bool:
    """Return whether each rank but 0 sends first to the rank without its lowest bit."""
    others = list(enumerate(run.sent))[1:]
    return run.ranks > 2 and all(peers and peers[0] == rank & (rank - 1) for rank, peers in others)


def _distances(run: Run, sign: int) -> list[set[int]]:
    """Return how far the peers of each rank are from it, to the right by sign 1, to the left by -1."""
    return [{sign * (peer - rank) % run.ranks for peer in peers} for rank, peers in enumerate(run.sent)]


def _are_doubled(run: Run, distances: list[set[int]]) -> bool:
    return run.ranks > 2 and all(own == {1 << bit for bit in range(run.ranks.bit_length() - 1)} for own in distances)


BY_HAND, CALLED = "messages by send and receive alone", "calls of torch.distributed: {called}"
LIBRARY: Table[Run] = Table(
    Misconception(
        "barrier_used",
        "You call a barrier, which sends messages that nobody counts. Remove it: receive waits by itself.",
        shown_by=lambda run: "barrier" in run.called,
        expected=BY_HAND,
        measured=CALLED,
    ),
    Misconception(
        "library_messages",
        "You send by torch.distributed, where no message is counted. Use the `send` and `receive` that your function "
        "is given.",
        shown_by=lambda run: bool(run.called) and set(run.called) <= MESSAGES,
        expected=BY_HAND,
        measured=CALLED,
    ),
    Misconception(
        "library_collective",
        "You call a collective of the library, but the exercise is by hand. Send the messages that it is made of.",
        shown_by=lambda run: bool(run.called),
        expected=BY_HAND,
        measured=CALLED,
    ),
)
INPUT: Table[Run] = Table(
    Misconception(
        "input_changed",
        "You change the tensor that your function is given. Look for operations in place: a view shares the numbers of "
        "its tensor, and .clone() does not.",
        shown_by=lambda run: not run.is_input_kept,
        expected="the input as it was",
        measured="another input than before on a rank, {what}",
    )
)
VALUES: Table[Run] = Table(
    Misconception(
        "own_tensor_returned",
        "You return on each rank what that rank began with. Look at whether the sum is put into what you return.",
        shown_by=_is_own,
    ),
    Misconception(
        "divided_too_often",
        "You divide by the number of ranks once more than you should. Look for the division.",
        shown_by=lambda run: _factor_of(run) == 1 / run.ranks,
    ),
    Misconception(
        "scaled",
        "You return the right numbers times another factor than 1. Look at what you multiply or divide by.",
        shown_by=lambda run: _factor_of(run) is not None and not any(len(set(digits)) > 1 for digits in run.digits),
    ),
    Misconception(
        "others_chunks_not_put_in",
        "You return a tensor in which one chunk is finished on each rank. Look at whether the chunks that come in "
        "later are put into that tensor.",
        shown_by=_is_one_chunk_right,
    ),
    Misconception(
        "rest_left_out",
        "You leave out the last elements where the length is no multiple of the number of ranks. Look at how you cut "
        "the tensor.",
        shown_by=_is_rest_wrong,
    ),
    Misconception(
        "overwritten",
        "You return numbers of single ranks: what comes in replaces what is there, or is never used. Add the two.",
        shown_by=lambda run: bool(run.digits) and all(sum(digits) == 1 for digits in run.digits),
    ),
    Misconception(
        "rank_missing",
        "You leave ranks out of the sum: a digit 0 is a rank that never reached this element. Look for the message "
        "that should have brought it.",
        shown_by=lambda run: any(0 in digits for digits in run.digits),
    ),
    Misconception(
        "counted_twice",
        "You count a rank more than once: a digit above 1 is a rank that was added again. Look for additions to a sum "
        "that holds it already.",
        shown_by=lambda run: any(max(digits) > 1 for digits in run.digits),
    ),
    Misconception(
        "chunks_misplaced",
        "You return the right numbers in wrong places. Look at the order in which you put the chunks together.",
        shown_by=_is_in_other_order,
    ),
)

NOTHING_SENT: Misconception[Run] = Misconception(
    "nothing_sent",
    "You send nothing on {ranks} ranks. Look at which line calls `send`, and whether it is reached on that number of "
    "ranks.",
    shown_by=lambda run: run.ranks > 1 and not any(one.events for one in run.traffic),
)
EVERYBODY: Misconception[Run] = Misconception(
    "everybody_to_everybody",
    "You send from each rank to all others. Look for sums that another rank could have made on the way.",
    shown_by=_is_mesh,
)
NOT_MUTUAL: Misconception[Run] = Misconception(
    "partners_not_mutual",
    "You send to rank + d and receive from rank - d, which are two ranks. Partners swap: take rank ^ d for both.",
    shown_by=lambda run: any(_are_doubled(run, _distances(run, sign)) for sign in (1, -1)),
)
SILENT: Table[Run] = Table(NOTHING_SENT)
ROUTES: tuple[Misconception[Run], ...] = (
    NOTHING_SENT,
    Misconception(
        "through_a_root",
        "You collect everything on rank 0 and send it from there, which is the naive way. Look at what the other ranks "
        "could add up meanwhile.",
        shown_by=_is_through_root,
    ),
    Misconception(
        "tree_used",
        "You send sums up a tree to rank 0, so at least half of the ranks send nothing in a round. Look at whom the "
        "contract lets each rank send to.",
        shown_by=_is_tree,
    ),
    Misconception(
        "direct_reduce_scatter",
        "You send a chunk from each rank to every other rank. Some texts call this a butterfly, but it is a direct "
        "reduce-scatter. Look at whom the contract lets each rank send to.",
        shown_by=lambda run: _is_mesh(run) and run.largest_bytes < run.tensor_bytes,
    ),
    EVERYBODY,
)
RING_USED: Misconception[Run] = Misconception(
    "ring_used",
    "You send to the same neighbour in every round, which is a ring. In a butterfly the distance of partners doubles "
    "from round to round.",
    shown_by=lambda run: run.ranks > 2 and any(_distances(run, sign) == [{1}] * run.ranks for sign in (1, -1)),
)
RING_REVERSED: Misconception[Run] = Misconception(
    "ring_reversed",
    "You send round the ring in the other direction. Send to rank + 1 and receive from rank - 1.",
    shown_by=lambda run: run.ranks > 2 and _distances(run, -1) == [{1}] * run.ranks,
)
BUTTERFLY_USED: Misconception[Run] = Misconception(
    "butterfly_used",
    "You take partners at doubled distances, which is a butterfly. In a ring each rank sends to its right neighbour.",
    shown_by=lambda run: _are_doubled(run, [{rank ^ peer for peer in own} for rank, own in enumerate(run.sent)]),
)
UNREAD: Misconception[Run] = Misconception(
    "messages_unread",
    "You send messages that nobody receives. Look at which loop goes on for longer, the sending or the receiving.",
    shown_by=lambda run: run.unread > 0,
    expected="every message received",
    measured="{unread} messages that nobody received",
)
IN_A_ROW: Misconception[Run] = Misconception(
    "one_after_the_other",
    "You make ranks wait for each other in a row, because some of them receive before they send. Look at the order of "
    "`send` and `receive`.",
    shown_by=lambda run: run.rounds > run.steps,
    measured="{rounds} rounds",
)
ORDERS: Table[Run] = Table(  # of runs whose ranks end with other bits
    EVERYBODY,
    NOT_MUTUAL,
    Misconception(
        "ranks_differ",
        "You add up the same numbers in another order on each rank, so they round differently. Let one rank add up an "
        "element, and the others copy it.",
        shown_by=lambda run: True,
    ),
)

"""Judges the ring, and its first half alone: what the ranks hold, and what they sent to whom."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from grader.judging.lessons.collectives.runs import Run, runs_of, stopped, sums
from grader.judging.lessons.collectives.sums import (
    BUTTERFLY_USED,
    IN_A_ROW,
    RING_REVERSED,
    ROUTES,
    UNREAD,
    Routine,
    exchange,
    judge_equal_bits,
    judge_values,
    say_route,
)
from grader.judging.misconceptions import Misconception, Table
from grader.judging.nearness import is_near
from grader.judging.references import Answer, ReferenceTable
from grader.lessons.collectives.reductions import BASE, ReductionCase, ring_cases, shard_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

FIRST_RANKS = 4  # what a ring is judged on first, and what a learner has tried
RELATIVE_TOLERANCE = 1e-9  # of numbers that are divided on their way


def ring(rank: int, ranks: int) -> Routine:
    """Add up one number of each rank in each chunk, and return the chunks."""
    chunks = [float(BASE**rank)] * ranks
    right = (rank + 1) % ranks
    for first in range(ranks - 1):
        place = (rank - first - 1) % ranks
        received = yield right, chunks[(rank - first) % ranks]
        chunks[place] = chunks[place] + received
    for second in range(ranks - 1):
        place = (rank - second) % ranks
        received = yield right, chunks[(rank - second + 1) % ranks]
        chunks[place] = received
    return chunks


def judge_ring_sums(observation: Observation, seed: int) -> Verdict:
    """Compare the sums of every rank."""
    runs = runs_of(observation, ring_cases(seed), _steps_of_both)
    wrong = judge_values(runs, _explainer(runs, RINGS, seed)) or _judge_stop(observation, runs)
    if wrong:
        return wrong
    numbers = " and ".join(dict.fromkeys(str(run.ranks) for run in runs))
    return Verdict(PASSED, "the sum on every rank", f"{len(runs)} sums on {numbers} ranks, uneven chunks among them")


def judge_ring_traffic(observation: Observation, seed: int) -> Verdict:
    """Compare neighbours, messages, bytes and rounds with a ring of chunks."""
    runs = runs_of(observation, ring_cases(seed), _steps_of_both)
    wrong = judge_values(runs, _explainer(runs, RINGS, seed)) or _judge_stop(observation, runs)
    wrong = wrong or _judge_rings(runs) or judge_equal_bits(runs)
    return wrong or _praise("a ring of chunks", runs[0])


def judge_ring_shards(observation: Observation, seed: int) -> Verdict:
    """Compare the chunk of every rank, and what was sent for it."""
    runs = runs_of(observation, shard_cases(seed), lambda ranks: ranks - 1, shards)
    wrong = judge_values(runs, SHARDS.judge, what="chunk of the sum that has the rank's number")
    wrong = wrong or _judge_rings(runs, SHARD_MESSAGES) or stopped(observation)
    return wrong or _praise("a chunk of the sum", runs[0])


def shards(case: ReductionCase) -> list[Tensor]:
    """Return the chunk of the sum that each rank has to return."""
    return list(sums(case)[0].flatten().tensor_split(case.world_size))


def _praise(what: str, run: Run) -> Verdict:
    share = max(one.sent_bytes for one in run.traffic) / run.tensor_bytes
    return Verdict(PASSED, what, f"{run.rounds} rounds on {run.ranks} ranks, each sends {share:g} tensors")


def _steps_of_both(ranks: int) -> int:
    return 2 * (ranks - 1)


def _explainer(runs: Sequence[Run], table: ReferenceTable, seed: int) -> Callable[[Run, str, str], Verdict | None]:
    """Return a function that names the misconception behind wrong numbers, by wrong rings and by what was sent."""
    passed = [_passed(run) for run in runs[:2]]
    answer = table.answer(seed, [*passed, *[None] * (2 - len(passed))])

    def explain(run: Run, expected: str, measured: str) -> Verdict | None:
        verdicts = (table.judge(part, expected, measured) for part in (answer, answer.only(0)))
        return next(filter(None, verdicts), None) or STEPS.judge(run, expected, measured)

    return explain


def _judge_stop(observation: Observation, runs: Sequence[Run]) -> Verdict | None:
    """Name what ended the observation, unless the messages before it say more."""
    stop = stopped(observation)
    uneven = next(filter(_is_chunk_sent, runs), None)
    if stop and uneven and stop.code == "raised_index_error":
        return CHUNK_USED.verdict(uneven, stop.expected, stop.measured)
    return stop and (_judge_rings(runs) or stop)


def _judge_rings(runs: Sequence[Run], messages: Table[Run] | None = None) -> Verdict | None:
    """Find the first run that is no ring: by whom the ranks talked to, how much each sent, and how long they waited."""
    return next(filter(None, (_judge_ring(run, messages or RING_MESSAGES) for run in runs)), None)


def _judge_ring(run: Run, messages: Table[Run]) -> Verdict | None:
    expected = f"{run.steps} messages of one chunk from each rank to its right neighbour, {run.what}"
    for rank in range(run.ranks):
        right, left = (rank + 1) % run.ranks, (rank - 1) % run.ranks
        is_silent = run.case.elements >= run.ranks > 1 and not run.sent[rank]
        if not set(run.sent[rank]) <= {right} or not set(run.received[rank]) <= {left} or is_silent:
            otherwise = "Each rank talks to its two neighbours only. Look at whom one rank sends to."
            return NEIGHBOURS.explain(run, expected=expected, measured=say_route(run, rank), otherwise=otherwise)
    return messages.judge(run, expected)


def _passed(run: Run) -> tuple[Any, Any] | None:
    """Return the number in each chunk of each rank, and the numbers that it sent; None where a chunk has several."""
    if not run.has_right_shapes or not run.case.is_counting:
        return None
    held = [[set(chunk.tolist()) for chunk in value.tensor_split(run.ranks)] for value, _ in run.pairs]
    if any(len(numbers) != 1 for chunks in held for numbers in chunks):
        return None
    return [[number for (number,) in chunks] for chunks in held], run.first_numbers


def _run(start: Callable[[int], Routine], ranks: int) -> tuple[Any, Any]:
    held, sent = exchange(start, ranks)
    return held, [[number for _, number in messages] for messages in sent]


def _are_near(answer: tuple[Any, Any] | None, value: tuple[Any, Any]) -> bool:
    """Return whether ranks passed on the same and hold the same, wherever the ring begins to count its chunks."""
    if answer is None:
        return False
    numberings = ([row[shift:] + row[:shift] for row in answer[0]] for shift in range(len(value[0])))
    return any(is_near((held, answer[1]), value, relative=RELATIVE_TOLERANCE) for held in numberings)


def _chunk_lengths(run: Run) -> list[int]:
    """Return how many elements each piece has by `torch.chunk`, which may make fewer pieces than ranks."""
    return [len(piece) for piece in torch.arange(run.case.elements).chunk(run.ranks)]


def _is_chunk_sent(run: Run) -> bool:
    """Return whether the pieces that were sent are those of `torch.chunk`, where `tensor_split` makes others."""
    lengths, size = _chunk_lengths(run), run.case.inputs().element_size()
    return [length // size for length in run.sizes] == sorted(set(lengths)) and max(lengths) - min(lengths) > 1


def _is_chunk_returned(run: Run) -> bool:
    returned, wanted = [len(value) for value, _ in run.pairs], [len(right) for _, right in run.pairs]
    return returned == _chunk_lengths(run) != wanted


def _are_rows_sent(run: Run) -> bool:
    """Return whether the largest message has the rows of one rank, where the first dimension is shared out."""
    rows = run.case.shape[0]
    return run.largest_bytes == -(-rows // run.ranks) * (run.tensor_bytes // rows)


def _has_large_message(run: Run) -> bool:
    return run.largest_bytes > run.chunk_bytes


def _has_small_message(run: Run) -> bool:
    return bool(run.sizes) and run.case.elements % run.ranks == 0 and run.sizes[0] < run.chunk_bytes


def _has_steps_of_four(run: Run) -> bool:
    """Return whether each rank sends as often as it is right on the number of ranks that is tried first."""
    if run.ranks in (1, FIRST_RANKS):
        return False
    return all(len(peers) == run.steps // (run.ranks - 1) * (FIRST_RANKS - 1) for peers in run.sent)


def _is_of_neighbour(run: Run) -> bool:
    rights = [right for _, right in run.pairs]
    shifted = (rights[step:] + rights[:step] for step in (1, -1))
    returned = [value.flatten() for value in run.returned]
    return any(all(map(run.agree, returned, others)) for others in shifted)


def _sends_equally(run: Run) -> bool:
    return len(set(map(len, run.sent))) == 1 and run.case.elements >= run.ranks


def _is_own_chunk(run: Run) -> bool:
    own = [float(BASE**rank) for rank in range(run.ranks)]
    return run.case.is_counting and all(bool((value == own[rank]).all()) for rank, (value, _) in enumerate(run.pairs))


def _edit_second_loop(send: int, put: int) -> dict[str, str]:
    """Return the edit with which the second loop sends and puts other chunks: rank + send and rank + put, at first."""
    return {
        "(rank - second + 1)": f"(rank - second + {send})",
        "place = (rank - second)": f"place = (rank - second + {put})",
    }


FIRST_STEPS, SECOND_STEPS = "first in range(ranks - 1)", "second in range(ranks - 1)"
ADDED, PLACE = "chunks[place] + received", "rank - first - 1"
RING_MISCONCEPTIONS: tuple[Misconception[Answer], ...] = (
    Misconception(
        "second_half_missing",
        "You stop when each rank has finished one chunk. Send the finished chunks round once more, so that all ranks "
        "get them.",
        {SECOND_STEPS: "second in range(0)"},
    ),
    Misconception(
        "added_in_second_half",
        "You add in the second loop, too. A finished chunk replaces what is there.",
        {"chunks[place] = received": "chunks[place] += received"},
    ),
    Misconception(
        "overwritten_in_first_half",
        "You replace chunks in the first loop. Add what is received to what is there.",
        {ADDED: "received"},
    ),
    Misconception(
        "loop_too_short",
        "You take too few steps in a loop. For N ranks each of the two loops needs N - 1.",
        {FIRST_STEPS: "first in range(ranks - 2)"},
        variants=[
            {SECOND_STEPS: "second in range(ranks - 2)"},
            {FIRST_STEPS: "first in range(ranks - 2)", SECOND_STEPS: "second in range(ranks - 2)"},
        ],
    ),
    Misconception(
        "second_half_shifted",
        "You take wrong chunks in the second loop. It starts by sending the chunk that this rank finished last, and "
        "puts what comes in into the place of the one before it.",
        _edit_second_loop(0, -1),
        variants=[_edit_second_loop(*places) for places in ((2, 1), (3, 2), (0, 0), (1, 1), (1, 2), (1, -1))],
    ),
    Misconception(
        "sums_do_not_travel",
        "You send on a chunk that you did not add to in the step before, so no sum travels. Look at which chunk the "
        "first loop adds to.",
        {PLACE: "rank - first"},
        variants=[{PLACE: "rank - 1", "(rank - first)": "rank"}],
    ),
    Misconception(
        "chunks_forward",
        "You count the chunks forwards from step to step, so a rank does not send on what it has just added to. Look "
        "at the sign of the step.",
        {
            PLACE: "rank + first - 1",
            "(rank - first)": "(rank + first)",
            "place = (rank - second)": "place = (rank + second)",
            "(rank - second + 1)": "(rank + second + 1)",
        },
    ),
)
RINGS = ReferenceTable(
    ring,
    *RING_MISCONCEPTIONS,
    run=lambda ring, case: _run(lambda rank: ring(rank, case.world_size), case.world_size),
    cases=lambda seed: ring_cases(seed)[:2],
    is_near=_are_near,
)

STEPS_OF_FOUR: Misconception[Run] = Misconception(
    "steps_of_four_ranks",
    "You take as many steps on {ranks} ranks as 4 ranks need. Look at where the number of steps does not follow "
    "world_size.",
    shown_by=_has_steps_of_four,
    measured="{most_messages} messages of each of {ranks} ranks",
)
CHUNK_USED: Misconception[Run] = Misconception(
    "chunk_for_tensor_split",
    "You cut with `chunk`, whose pieces differ by more than one element and which makes fewer than N of few elements. "
    "Use `tensor_split`, which always makes N.",
    shown_by=_is_chunk_returned,
)
OTHER_STEPS: Misconception[Run] = Misconception(
    "other_number_of_steps",
    "You take {most_messages} steps on {ranks} ranks, where a chunk meets all of them in {steps}. Look at the range of "
    "the loop.",
    shown_by=lambda run: _sends_equally(run) and run.most_messages != run.steps and run.most_messages < 2 * run.steps,
    measured="{most_messages} messages of each rank, where {steps} are needed, {what}",
)
STEPS: Table[Run] = Table(
    Misconception(
        "message_of_other_size",
        "You send messages with fewer bytes than a chunk has. Look at the number format and the elements of what you "
        "send.",
        shown_by=_has_small_message,
        measured="messages of {sizes} bytes, where a chunk has {chunk_bytes}",
    ),
    STEPS_OF_FOUR,
)
SHARDS: Table[Run] = Table(
    Misconception(
        "whole_tensor_returned",
        "You return a whole tensor on each rank. Return only the chunk that has the rank's number.",
        shown_by=lambda run: all(len(value) == run.case.elements for value, _ in run.pairs),
    ),
    Misconception(
        "chunk_not_flat",
        "You return a chunk of several dimensions. The tensor is flattened before it is cut, so a chunk has one "
        "dimension.",
        shown_by=lambda run: any(value.dim() != 1 for value in run.returned),
    ),
    CHUNK_USED,
    Misconception(
        "neighbours_chunk",
        "You end with the chunk of a neighbour on each rank. Look at which chunk a rank sends first.",
        shown_by=_is_of_neighbour,
    ),
    STEPS_OF_FOUR,
    OTHER_STEPS,
    Misconception(
        "unfinished_chunk_returned",
        "You return a chunk that holds only the rank's own numbers. Look at which chunk the last step adds to, and "
        "shift all chunk numbers if it is not the rank's.",
        shown_by=_is_own_chunk,
    ),
)
NEIGHBOURS: Table[Run] = Table(*ROUTES, RING_REVERSED, BUTTERFLY_USED)
LARGE_MESSAGE = "a message of {largest_bytes} bytes, where a chunk of {what} has {chunk_bytes}"
SIZES: tuple[Misconception[Run], ...] = (
    Misconception(
        "tensor_not_chunked",
        "You pass on whole tensors. Cut the tensor into N chunks, and send one of them in each step.",
        shown_by=lambda run: _has_large_message(run) and run.largest_bytes >= run.tensor_bytes,
        measured=LARGE_MESSAGE,
    ),
    Misconception(
        "rows_shared_out",
        "You share out rows, because tensor_split cuts the first dimension. Flatten the tensor first.",
        shown_by=lambda run: _has_large_message(run) and _are_rows_sent(run),
        measured=LARGE_MESSAGE,
    ),
    Misconception(
        "chunks_uneven",
        "You share out the elements unevenly. No two chunks may differ by more than one element, so look at where the "
        "rest of the division goes.",
        shown_by=_has_large_message,
        measured=LARGE_MESSAGE,
    ),
)
RING_MESSAGES: Table[Run] = Table(
    *SIZES,
    UNREAD,
    STEPS_OF_FOUR,
    Misconception(
        "messages_too_many",
        "You send more messages than the 2 (N - 1) that are needed. Look at how many steps your loops take, and at "
        "what each step sends.",
        shown_by=lambda run: run.most_messages > run.steps,
        measured="{most_messages} messages of one rank",
    ),
    IN_A_ROW,
)
SHARD_MESSAGES: Table[Run] = Table(
    *SIZES,
    UNREAD,
    STEPS_OF_FOUR,
    OTHER_STEPS,
    Misconception(
        "whole_sum_made",
        "You make the whole sum on each rank. Leave out the second half of the ring: no rank needs the other chunks "
        "here.",
        shown_by=lambda run: run.most_messages > run.steps,
        measured="{most_messages} messages of one rank",
    ),
    IN_A_ROW,
)

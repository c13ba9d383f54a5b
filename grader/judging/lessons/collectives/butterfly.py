"""Judges recursive doubling: its sums, whom each rank talked to, and the numbers of ranks that it refuses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from grader.judging.lessons.collectives.runs import Run, runs_of, stopped
from grader.judging.lessons.collectives.sums import (
    IN_A_ROW,
    NOT_MUTUAL,
    RING_USED,
    ROUTES,
    UNREAD,
    Routine,
    exchange,
    judge_equal_bits,
    judge_values,
    say_route,
)
from grader.judging.misconceptions import Misconception, Table
from grader.judging.references import ReferenceTable
from grader.lessons.collectives.reductions import BASE, butterfly_cases, unsupported_ranks
from grader.observation import Observation
from grader.verdict import PASSED, Verdict


def butterfly(rank: int, ranks: int) -> Routine:
    """Add up one number of each rank: swap with partners at doubled distances, and add what they sent."""
    total = float(BASE**rank)
    distance = 1
    while distance < ranks:
        received = yield rank ^ distance, total
        total = total + received
        distance = 2 * distance
    return total


def judge_butterfly_sums(observation: Observation, seed: int) -> Verdict:
    """Compare the sums of every rank, bit by bit among ranks."""
    runs = _read(observation, seed)
    wrong = judge_values(runs, _explain) or stopped(observation) or judge_equal_bits(runs)
    if wrong:
        return wrong
    measured = f"{len(runs)} sums on 8, 4 and 2 ranks, the same bits everywhere"
    return Verdict(PASSED, "the sum on every rank", measured)


def judge_butterfly_rounds(observation: Observation, seed: int) -> Verdict:
    """Compare partners, bytes and rounds with recursive doubling, and what other numbers of ranks lead to."""
    runs = _read(observation, seed)
    wrong = judge_values(runs, _explain) or stopped(observation)
    wrong = wrong or next(filter(None, map(_judge_messages, runs)), None) or _judge_refusal(observation, seed)
    if wrong:
        return wrong
    first = runs[0]
    measured = f"{first.rounds} rounds on 8 ranks, {first.traffic[0].sent_bytes} bytes sent by each: 3 tensors"
    return Verdict(PASSED, "recursive doubling", measured)


def distances_of(ranks: int) -> list[int]:
    """Return how far partners are apart, round by round."""
    return [1 << bit for bit in range(ranks.bit_length() - 1)]


def _read(observation: Observation, seed: int) -> list[Run]:
    return runs_of(observation, butterfly_cases(seed), lambda ranks: ranks.bit_length() - 1)


def _explain(run: Run, expected: str, measured: str) -> Verdict | None:
    """Name the misconception behind wrong sums, by what was sent or by the sums of a wrong butterfly on the ranks."""
    held = [sorted(set(value.tolist())) for value, _ in run.pairs]
    answer = BUTTERFLIES.answer(0, [(held, [sorted(peers) for peers in run.sent])])
    wrong_sums = BUTTERFLIES.judge(answer, expected, measured) if run.ranks == RANKS else None
    return MESSAGES.judge(run, expected, measured) or wrong_sums


def _judge_messages(run: Run) -> Verdict | None:
    right = distances_of(run.ranks)
    expected = f"partners {right} apart, {len(right)} rounds, {run.what}"
    partners = [sorted(rank ^ distance for distance in right) for rank in range(run.ranks)]
    for rank, own in enumerate(partners):
        if sorted(run.sent[rank]) != own or sorted(run.received[rank]) != own:
            otherwise = f"Partners of a rank are {right} apart. Look at whom one rank sends to in each round."
            return PARTNERS.explain(run, expected=expected, measured=say_route(run, rank), otherwise=otherwise)
    return ROUNDS.judge(run, expected)


def _run(butterfly: Callable[[int, int], Routine], ranks: int) -> tuple[list[list[float]], list[list[int]]]:
    """Return the different numbers that each rank holds at the end, and whom it sent to."""
    totals, sent = exchange(lambda rank: butterfly(rank, ranks), ranks)
    return [[total] for total in totals], [sorted(peer for peer, _ in messages) for messages in sent]


RANKS = 8  # of the first case
RECEIVED = "total = total + received"
BUTTERFLIES = ReferenceTable(
    butterfly,
    Misconception(
        "last_round_missing",
        "You leave out the largest distance, so the two halves of the ranks never meet. Look at which "
        "distances your loop takes.",
        {"distance < ranks": "distance < ranks // 2"},
    ),
    Misconception(
        "first_round_missing",
        "You leave out distance 1, so neighbours never meet. Look at which distances your loop takes.",
        {"distance = 1": "distance = 2"},
    ),
    Misconception(
        "rounds_missing",
        "You swap in one round only. It takes log2 N rounds, at distances 1, 2, 4 and so on.",
        {"while distance < ranks": "for distance in (1,)"},
    ),
    Misconception(
        "round_too_many",
        "You let each rank meet partners that it does not need. The distances 1, 2, 4 and so on are enough, each once.",
        {"while distance < ranks": "for distance in range(1, ranks)"},
        variants=[{"distance = 1": "distance = 1; yield rank ^ 1, total"}],
    ),
    Misconception(
        "own_tensor_sent",
        "You send your own tensor in every round. From the second round on, send all that you hold by then.",
        {"yield rank ^ distance, total": "yield rank ^ distance, float(BASE**rank)"},
    ),
    Misconception(
        "overwritten",
        "You put what a rank receives in the place of what it holds. Add the two.",
        {RECEIVED: "total = received"},
    ),
    run=_run,
    cases=lambda seed: (RANKS,),
)
MESSAGES: Table[Run] = Table(
    Misconception(
        "message_of_other_size",
        "You send messages with fewer bytes than the tensor has. Look at the number format and the elements of what "
        "you send.",
        shown_by=lambda run: bool(run.sizes) and run.sizes[0] < run.tensor_bytes,
        measured="messages of {sizes} bytes, from tensors of {tensor_bytes}",
    ),
)
PARTNERS: Table[Run] = Table(
    Misconception(
        "message_repeated",
        "You send to the same partner more than once. One message in each round is enough.",
        shown_by=lambda run: (
            all(len(peers) > len(set(peers)) for peers in run.sent)
            and all(
                {rank ^ peer for peer in peers} == set(distances_of(run.ranks)) for rank, peers in enumerate(run.sent)
            )
        ),
    ),
    *ROUTES,
    RING_USED,
    NOT_MUTUAL,
)
ROUNDS: Table[Run] = Table(
    Misconception(
        "tensor_not_whole",
        "You send messages of another size than the tensor. Recursive doubling sends the whole of what a rank holds in "
        "each round.",
        shown_by=lambda run: run.sizes != [run.tensor_bytes],
        expected="messages of {tensor_bytes} bytes",
        measured="messages of {sizes} bytes",
    ),
    UNREAD,
    IN_A_ROW,
)


@dataclass(frozen=True)
class Refusal:
    """What a butterfly does on a number of ranks that it has to refuse.

    Attributes:
        errors: The error of each rank, "" where it raised none.
        messages: How many messages the ranks sent or received before, or tried to.
    """

    errors: list[str]
    messages: int

    @property
    def raising(self) -> list[int]:
        """The ranks that raised a ValueError."""
        return [rank for rank, error in enumerate(self.errors) if error == "ValueError"]

    @property
    def are_all_raising(self) -> bool:
        """Whether each rank raised a ValueError."""
        return bool(self.errors) and len(self.raising) == len(self.errors)


def _judge_refusal(observation: Observation, seed: int) -> Verdict | None:
    ranks, refused = unsupported_ranks(seed).world_size, observation.facts["refused"]
    messages = sum(one["messages"] + (one["named"] is not None) for one in refused)
    seen = Refusal([str(one["error"]) for one in refused], messages)
    errors = [f"{error or 'no error'} on rank {rank}" for rank, error in enumerate(seen.errors)]
    measured = f"{', '.join(errors)}, {messages or 'no'} messages"
    return REFUSALS.judge(seen, f"a ValueError on each of {ranks} ranks, before anything is sent", measured)


REFUSALS: Table[Refusal] = Table(
    Misconception(
        "refused_on_some_ranks",
        "You raise the ValueError on some ranks only, and the others wait for them. Look at the condition: each rank "
        "reads the same world_size.",
        shown_by=lambda seen: bool(seen.raising) and not seen.are_all_raising,
    ),
    Misconception(
        "refused_too_late",
        "You raise the ValueError after messages were sent. Put the line that refuses in front of them.",
        shown_by=lambda seen: seen.are_all_raising and seen.messages > 0,
    ),
    Misconception(
        "other_ranks_not_refused",
        "You start the rounds for a number of ranks that is no power of two. Look for the line that refuses it: it was "
        "given.",
        shown_by=lambda seen: seen.messages > 0 or not seen.errors,
    ),
    Misconception(
        "refused_by_other_error",
        "You stop without a ValueError on a number of ranks that is no power of two. Look at the line that was given.",
        shown_by=lambda seen: not seen.are_all_raising,
    ),
)

"""Judges the shares that another number of ranks reads from a checkpoint, and how much they read for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from grader.judging.misconceptions import Misconception
from grader.judging.references import ReferenceTable
from grader.lessons.checkpoint_and_resume.shares import SharesCase, run_reshard, shares_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict


def reshard(read: Callable[[int, int, int], Tensor], elements: int, old_ranks: int, ranks: int, rank: int) -> Tensor:
    """Return a rank's share, and read no number that is not in it."""
    old = -(-elements // old_ranks)
    new = -(-elements // ranks)
    start, stop = rank * new, min((rank + 1) * new, elements)
    pieces = [torch.zeros(0)]
    while start < stop:
        owner, offset = divmod(start, old)
        end = min(offset + stop - start, old)
        pieces.append(read(owner, offset, end))
        start += end - offset
    share = torch.cat(pieces)
    return F.pad(share, (0, new - len(share)))


def judge_resharded(observation: Observation, seed: int) -> Verdict:
    """Judge the shares of all ranks, then the count of numbers that were read."""
    answers = observation.facts["answers"]
    values = [{name: [rank[name] for rank in case] for name in ("share", "read")} for case in answers]
    answer = TABLE.answer(seed, values)
    for name, otherwise in (("share", _other_share), ("read", _other_reads)):
        part = answer.part(name)
        if part.is_right:
            continue
        rank = next(i for i, (one, true) in enumerate(zip(part.value, part.truth, strict=True)) if one != true)
        case = part.case
        expected = f"{_said(part.truth[rank])} on rank {rank} of {case.ranks}"
        expected += f"; {case.elements} elements, saved by {case.old_ranks} ranks"
        return TABLE.explain(
            part,
            answer,
            expected=expected,
            measured=_said(part.value[rank]),
            otherwise=otherwise(part.value[rank], part.truth[rank]),
        )
    count = sum(len(case["share"]) for case in values)
    return Verdict(PASSED, "", f"the shares of {count} ranks, each read once")


def _said(value: list[float] | int) -> str:
    if isinstance(value, int):
        return f"{value} numbers read"
    text = ", ".join(f"{number:g}" for number in value[:12])
    return f"[{text}{', ...' if len(value) > 12 else ''}]"


def _other_share(value: list[float], truth: list[float]) -> str:
    if len(value) != len(truth):
        size = "long" if len(value) > len(truth) else "short"
        return (
            f"Your share is too {size}. Each one has `elements / ranks` numbers, rounded up; zeros fill the last ones."
        )
    own = next((i for i in range(len(truth), 0, -1) if truth[i - 1]), 0)
    if value[:own] == truth[:own]:
        return "You put other numbers than zeros after the end of the vector."
    if [torch.tensor(number).bfloat16() for number in truth] == [torch.tensor(number).bfloat16() for number in value]:
        return "You round the numbers. Return them as `read` gives them, in float32."
    return (
        "Your share holds other numbers. Put the saved shares of the case next to each other on paper, and mark where "
        "each new share begins and ends; a new share may span many saved ones."
    )


def _other_reads(value: int, truth: int) -> str:
    size = "more" if value > truth else "fewer"
    return (
        f"Your shares are right, but you read {size} numbers than they hold. Read each number of your own share once."
    )


def _run(function: Callable[..., Any], case: SharesCase) -> dict[str, list[Any]]:
    answers = run_reshard(function, case)
    return {name: [answer[name] for answer in answers] for name in ("share", "read")}


OLD = "old = -(-elements // old_ranks)"
NEW = "new = -(-elements // ranks)"
BOUNDS = "start, stop = rank * new, min((rank + 1) * new, elements)"
READ = "pieces.append(read(owner, offset, end))"
PADDED = "return F.pad(share, (0, new - len(share)))"
LOOP = "while start < stop:"
PIECES = "pieces = [torch.zeros(0)]"
EVERYTHING = (
    "whole = torch.cat([read(owner, 0, {}) for owner in range(old_ranks)])\n"
    "    own = whole[start : max(start, stop)]\n"
    "    return F.pad(own, (0, new - len(own)))"
)
TABLE = ReferenceTable(
    reshard,
    Misconception(
        "saved_files_joined",
        "You join whole saved shares. That is right only where the old count of ranks is a multiple of the new one, "
        "and no share has padding.",
        {
            BOUNDS: "first, last = rank * old_ranks // ranks, (rank + 1) * old_ranks // ranks\n"
            "    return torch.cat([torch.zeros(0), *(read(owner, 0, old) for owner in range(first, last))])",
        },
        variants=[
            {
                BOUNDS: "first, last = rank * old_ranks // ranks, (rank + 1) * old_ranks // ranks\n"
                "    joined = torch.cat([torch.zeros(0), *(read(owner, 0, old) for owner in range(first, last))])\n"
                "    return F.pad(joined, (0, max(0, new - len(joined))))[:new]",
            },
            {
                BOUNDS: "files = old_ranks // ranks\n"
                "    owners = range(rank * files, rank * files + files)\n"
                "    return torch.cat([torch.zeros(0), *(read(owner, 0, old) for owner in owners)])",
            },
        ],
    ),
    Misconception(
        "padding_split",
        "You split the padded vector. The padding belongs to the old count of ranks: begin from `elements`.",
        {NEW: "new = -(-old * old_ranks // ranks)"},
        variants=[
            {
                NEW: "new = -(-old * old_ranks // ranks)",
                "(rank + 1) * new, elements)": "(rank + 1) * new, old * old_ranks)",
            }
        ],
    ),
    Misconception(
        "last_elements_lost",
        "You round the length of a new share down, so the last elements are in no share. Round up.",
        {NEW: "new = elements // ranks"},
        variants=[{NEW: "new = old * old_ranks // ranks"}],
    ),
    Misconception(
        "longer_shares_first",
        "You make the first shares one longer, as torch.tensor_split does. Here all shares have one length, rounded "
        "up, and padding at the end.",
        {
            NEW: "base, more = divmod(elements, ranks)\n    new = base + (rank < more)",
            BOUNDS: "start = rank * base + min(rank, more)\n    stop = start + new",
        },
        variants=[
            {
                NEW: "base, more = divmod(elements, ranks)\n    new = -(-elements // ranks)",
                BOUNDS: "start = rank * base + min(rank, more)\n    stop = start + base + (rank < more)",
            },
        ],
    ),
    Misconception(
        "rest_on_the_last_rank",
        "You round down and give the rest to the last rank. Collectives need shares of one length: round up and pad.",
        {
            NEW: "new = elements // ranks + (elements % ranks if rank == ranks - 1 else 0)",
            BOUNDS: "start = rank * (elements // ranks)\n    stop = start + new",
        },
    ),
    Misconception(
        "length_of_the_old_shares",
        "You give a new share the length of a saved one. With another number of ranks it has another length.",
        {NEW: "new = old"},
    ),
    Misconception(
        "dealt_in_turn",
        "You deal the elements out in turn, like cards. A rank's share is a stretch of neighbours.",
        {
            PIECES: "places = range(rank, elements, ranks)\n"
            "    pieces = [torch.zeros(0), *(read(place // old, place % old, place % old + 1) for place in places)]\n"
            "    start = stop",
        },
    ),
    Misconception(
        "first_owner_only",
        "You read from one old rank only. A new share may begin in one saved share and end in another.",
        {LOOP: "if start < stop:"},
    ),
    Misconception(
        "offset_kept",
        "You begin in the middle of each saved share. Only the first one that you read begins there; in the next ones "
        "begin at 0.",
        {
            PIECES: "pieces, first = [torch.zeros(0)], start % old",
            READ: "pieces.append(read(owner, max(first, offset), min(old, max(first, offset) + end - offset)))",
        },
    ),
    Misconception(
        "not_padded",
        "You return a share that is too short. Ranks at the end pad theirs with zeros to the common length.",
        {PADDED: "return share"},
    ),
    Misconception(
        "padded_in_front",
        "You put the padding in front. It comes after the last element.",
        {PADDED: "return F.pad(share, (new - len(share), 0))"},
    ),
    Misconception(
        "everything_read",
        "Your shares are right, but every rank reads the whole checkpoint. It may be larger than a machine's memory.",
        {PIECES: EVERYTHING.format("old")},
        variants=[{PIECES: EVERYTHING.format("max(0, min(old, elements - owner * old))")}],
    ),
    Misconception(
        "whole_vector_returned",
        "You return the whole vector. A rank keeps its own share only.",
        {BOUNDS: "start, stop, new = 0, elements, elements"},
        variants=[{BOUNDS: "start, stop, new = 0, old * old_ranks, elements"}],
    ),
    Misconception(
        "whole_shares_read",
        "Your shares are right, but you read whole saved shares and cut them. Read from `start` to `stop` only.",
        {READ: "pieces.append(read(owner, 0, old)[offset:end])"},
    ),
    Misconception(
        "padding_read",
        "Your shares are right, but you read the padding as well. It is known: zeros after the last element.",
        {"(rank + 1) * new, elements)": "(rank + 1) * new, old * old_ranks)"},
    ),
    run=_run,
    cases=shares_cases,
)

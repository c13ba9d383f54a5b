"""Judges the diagnosis of recorded hangs: which rank, and what it did."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from grader.judging.misconceptions import Misconception
from grader.judging.references import ReferenceTable, hard_coded
from grader.lessons.collectives.hangs import HangCase, hang_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

RANK, CAUSE = PARTS = "rank", "cause"


def diagnosis(records: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """Return the rank whose calls are not those of the others, and what it did."""
    places = range(min(map(len, records)))
    for place in places:
        calls = [record[place] for record in records]
        usual = max(calls, key=calls.count)
        if any(call != usual for call in calls):
            break
    rank = next(number for number, call in enumerate(calls) if call != usual)
    own, others = records[rank][place:], records[rank - 1][place:]
    if own[0] == others[1] and own[1] == others[0]:
        cause = "swapped"
    elif own[0] == others[1]:
        cause = "skipped"
    elif own[1] == others[0]:
        cause = "extra"
    elif own[0][0] == others[0][0]:
        cause = "other size"
    else:
        cause = "other operation"
    return {"rank": rank, "cause": cause}


def judge_hang_diagnoses(observation: Observation, seed: int) -> Verdict:
    """Compare rank and cause of every record with those of the reference."""
    said = observation.facts["said"]
    answer = TABLE.answer(seed, [{RANK: rank, CAUSE: cause} for rank, cause in said])
    for name in PARTS:
        part = answer.part(name)
        if part.is_right:
            continue
        expected = f"{name} {part.truth!r} for {_say(part.case)}"
        return TABLE.explain(answer, part, expected=expected, measured=f"{part.value!r}", otherwise=OTHERWISE[name])
    return Verdict(PASSED, "", f"{len(said)} hangs on 3 to 5 ranks, each with its rank and its cause")


def _say(case: HangCase) -> str:
    calls = [f"rank {rank} has {len(record)} calls" for rank, record in enumerate(case.records)]
    return f"the record in which {', '.join(calls)}"


OTHERWISE = {
    RANK: "You name a rank that does what the others do. Find the first call that is not the same on all ranks, and "
    "who is alone with its own.",
    CAUSE: "You name another cause. Lay the calls of the rank next to those of another one, from the first difference "
    "on: shifted by one, exchanged, or different in one call?",
}
ODD = "rank = next(number for number, call in enumerate(calls) if call != usual)"
TABLE = ReferenceTable(
    diagnosis,
    Misconception(
        "rank_zero_believed",
        "You take rank 0 for right, and name the first rank that differs from it. Rank 0 may be the one: ask what most "
        "ranks call.",
        {"usual = max(calls, key=calls.count)": "usual = calls[0]"},
    ),
    Misconception(
        "shortest_record_blamed",
        "You name the rank with the shortest record. Calls are only queued, and a rank that is right may have "
        "queued few.",
        {
            ODD: "rank = min(range(len(records)), key=lambda one: len(records[one]))",
        },
    ),
    Misconception(
        "longest_record_blamed",
        "You name the rank with the longest record. Calls are only queued, and a rank that is right may have "
        "queued many.",
        {
            ODD: "rank = max(range(len(records)), key=lambda one: len(records[one]))",
        },
    ),
    Misconception(
        "first_difference_is_the_cause",
        "You look at the first different call alone. A call that is left out or added shifts all that follow: compare "
        "the next calls too.",
        {
            "own[0] == others[1] and own[1] == others[0]": "False",
            "elif own[0] == others[1]:": "elif False:",
            "elif own[1] == others[0]:": "elif False:",
        },
    ),
    Misconception(
        "swapped_for_skipped",
        "You call it skipped where two calls are exchanged. If one is skipped, all that follow are one place early.",
        {"own[0] == others[1] and own[1] == others[0]": "False"},
        variants=[
            {
                "own[0] == others[1] and own[1] == others[0]": "False",
                "elif own[0] == others[1]:": "elif own[0] == others[1] and own[1] != others[0]:",
            }
        ],
    ),
    Misconception(
        "skipped_and_extra_exchanged",
        "You say skipped for extra, and extra for skipped. If its next call is the one that the others make now, "
        "it made one more.",
        {'cause = "skipped"': 'cause = "extra"', 'cause = "extra"': 'cause = "skipped"'},
    ),
    hard_coded(hang_cases),
    run=lambda diagnosis, case: diagnosis(case.records),
    cases=hang_cases,
)

"""Judges the causes that are read from out-of-memory messages."""

from __future__ import annotations

from grader.judging.misconceptions import Misconception
from grader.judging.references import ReferenceTable, hard_coded
from grader.lessons.where_memory_goes.out_of_memory import CAUSES, OutOfMemoryCase, out_of_memory_cases
from grader.observation import Observation
from grader.units import format_bytes
from grader.verdict import PASSED, Verdict


def find_cause(asked: int, total: int, free: int, own: int, allocated: int, unallocated: int) -> str:
    """Return why a request failed: the first cause without which it would have fitted."""
    others = total - free - own
    if asked <= free + unallocated:
        return "fragmentation"
    if asked <= free + unallocated + others:
        return "other processes"
    return "too large"


# The parts of the reference that misconceptions edit.
FITS_WHOLE = "asked <= free + unallocated:"
FITS_ALONE = "asked <= free + unallocated + others:"
OTHERS = "others = total - free - own"


def _always(cause: str) -> dict[str, str]:
    return {OTHERS: f'return "{cause}"; others = 0'}


TABLE = ReferenceTable(
    find_cause,
    Misconception(
        "one_cause_for_all",
        "You return one cause for every message. Compare the request with what would be free without each cause.",
        _always("too large"),
        variants=[_always("fragmentation"), _always("other processes")],
    ),
    Misconception(
        "fragmentation_never",
        "You never find fragmentation. Unallocated memory would serve the request if it were in one piece.",
        {FITS_WHOLE: "asked <= free:"},
    ),
    Misconception(
        "free_memory_left_out",
        "You compare the request with the unallocated memory alone. The free memory of the device serves it, too.",
        {FITS_WHOLE: "asked <= unallocated:"},
    ),
    Misconception(
        "any_cache_is_fragmentation",
        "You find fragmentation wherever unallocated memory is more than some number. "
        "Compare the request with the sum of unallocated and free memory.",
        {FITS_WHOLE: "unallocated > free:"},
        variants=[{FITS_WHOLE: "unallocated > asked / 4:"}],
    ),
    Misconception(
        "context_counted_as_others",
        "You count the context of this process as memory of others. `own` holds it already: subtract `own`.",
        {OTHERS: "others = total - free - allocated - unallocated"},
        variants=[{OTHERS: "others = total - free - allocated"}],
    ),
    Misconception(
        "own_memory_counted_as_others",
        "You count memory of this process as memory of others. Others hold what is neither free nor `own`.",
        {OTHERS: "others = total - free"},
    ),
    Misconception(
        "others_never",
        "You never blame other processes. They hold what is neither free nor in use by this process.",
        {FITS_ALONE: "False:"},
    ),
    Misconception(
        "others_wherever_there_are_any",
        "You blame other processes wherever there are any. Compute whether the request would fit without them.",
        {FITS_ALONE: "others > 0:"},
    ),
    Misconception(
        "others_first",
        "You test other processes before fragmentation. The contract asks for the first that is true, in its order.",
        {FITS_WHOLE: "asked <= free + unallocated and not (others and asked <= free + others):"},
        variants=[
            {FITS_WHOLE: "asked <= free + unallocated and others == 0:"},
            {
                FITS_WHOLE: "asked <= free + unallocated and asked > free + others:",
                FITS_ALONE: "asked <= free + others:",
            },
            {FITS_WHOLE: "asked <= free + unallocated and others == 0:", FITS_ALONE: "others > 0:"},
        ],
    ),
    Misconception(
        "others_taken_for_free",
        "You find fragmentation where the request needs memory of other processes or of the context. Only what is "
        "free, and what this process has reserved and not allocated, could be joined.",
        {FITS_WHOLE: "asked <= total - allocated:"},
        variants=[{FITS_WHOLE: "asked <= total - own:"}],
    ),
    Misconception(
        "unallocated_left_out",
        "You leave out the unallocated memory when you test other processes. It serves the request, too.",
        {FITS_ALONE: "asked <= free + others:"},
    ),
    Misconception(
        "others_without_free",
        "You compare the request with the memory of others alone. Add what is free and what is unallocated.",
        {FITS_ALONE: "asked <= others:"},
    ),
    Misconception(
        "total_compared",
        "You compare the request with the whole device. This process holds a part of it, with or without others.",
        {FITS_ALONE: "asked <= total:"},
        same_as=("own_memory_counted_as_others",),
    ),
    hard_coded(out_of_memory_cases),
    run=lambda find_cause, case: find_cause(
        case.asked, case.total, case.free, case.own, case.allocated, case.unallocated
    ),
    cases=out_of_memory_cases,
)


def judge_out_of_memory(observation: Observation, seed: int) -> Verdict:
    """Compare every cause with the first one without which the request would have fitted."""
    answers = observation.facts["answers"]
    if not set(answers) <= set(CAUSES):
        raise ValueError(f"a word that is none of {', '.join(CAUSES)}")
    answer = TABLE.answer(seed, answers)
    if answer.is_right:
        return Verdict(PASSED, "", f"{len(answers)} messages")
    return TABLE.explain(
        answer,
        expected=f'"{answer.truth}" for {_describe(answer.case)}',
        measured=f'"{answer.value}"; {len(answer.wrong)} of {len(answers)} causes are wrong',
        otherwise="You find another cause. Compute what would be free without fragmentation, and then without others.",
    )


def _describe(case: OutOfMemoryCase) -> str:
    names = ("asked", "total", "free", "own", "allocated", "unallocated")
    return ", ".join(f"{name} {format_bytes(getattr(case, name))}" for name in names)

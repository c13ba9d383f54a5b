"""Verdict on what a GPU's memory is occupied by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grader.judging.lessons.where_memory_goes.other_units import other_unit
from grader.judging.lessons.where_memory_goes.wording import say_bytes
from grader.judging.numbers import Mistake, failed, recognise
from grader.lessons.where_memory_goes.occupied import OccupiedCase, occupied_cases
from grader.observation import Observation
from grader.units import MIB, format_bytes
from grader.verdict import PASSED, Verdict

VISIBLE_SEED = 0  # of the cases that a learner has seen
V100_CONTEXT_BYTES = 1343 * MIB
KEYS = ("outside", "after_empty_cache", "for_new_tensors")

CONTEXT = "what is in use before the first tensor: who took it?"
CACHE = "the cache: reserved bytes that no tensor uses."

MISTAKES: Mapping[str, tuple[Mistake[OccupiedCase], ...]] = {
    "outside": (
        Mistake(
            "cache_taken_for_outside",
            lambda c: c.occupied - c.allocated,
            f"{CACHE} Does the allocator know of them?",
        ),
        Mistake("free_taken_for_outside", lambda c: c.total - c.occupied, "bytes in use are asked for, not free ones"),
        Mistake("cache_for_outside", lambda c: c.reserved - c.allocated, CONTEXT),
        Mistake(
            "unreserved_taken_for_outside", lambda c: c.total - c.reserved, "how much of that is in use by something?"
        ),
        Mistake(
            "context_of_the_lesson",
            lambda c: V100_CONTEXT_BYTES,
            "1,343 MiB are of one published V100: which readings tell it for another device?",
        ),
        Mistake("nothing_outside", lambda c: 0, CONTEXT),
        Mistake("reserve_taken_for_outside", lambda c: c.reserved, "the allocator knows of what it reserved"),
        Mistake("reserve_taken_for_outside", lambda c: c.allocated, "the allocator knows of what is in tensors"),
        Mistake("all_in_use_taken_for_outside", lambda c: c.occupied, "how much of that did PyTorch's allocator take?"),
    ),
    "after_empty_cache": (
        Mistake("cache_not_emptied", lambda c: c.occupied, f"{CACHE} To whom does empty_cache() give them?"),
        Mistake("only_tensors_stay", lambda c: c.allocated, f"the driver and the context: {CONTEXT}"),
        Mistake("tensors_freed_too", lambda c: c.occupied - c.reserved, "tensors that are in use: do they go?"),
        Mistake(
            "tensors_freed_for_cache",
            lambda c: c.occupied - c.allocated,
            "which bytes go: those in tensors, or those that wait for new tensors?",
        ),
        Mistake("only_reserve_stays", lambda c: c.reserved, f"{CACHE} And {CONTEXT}"),
        Mistake("bytes_given_back", lambda c: c.reserved - c.allocated, "what stays is asked for, not what goes"),
        Mistake(
            "cache_taken_twice", lambda c: c.allocated - (c.reserved - c.allocated), "from what the cache is taken"
        ),
    ),
    "for_new_tensors": (
        Mistake("cache_not_used_again", lambda c: c.total - c.occupied, f"{CACHE} May a new tensor have them?"),
        Mistake(
            "context_counted_as_free",
            lambda c: c.total - c.allocated,
            f"bytes outside of the allocator: {CONTEXT}",
        ),
        Mistake(
            "only_reserve_subtracted",
            lambda c: c.total - c.reserved,
            f"two things: {CONTEXT} And {CACHE}",
        ),
        Mistake("only_cache_counted", lambda c: c.reserved - c.allocated, "bytes that nobody has taken yet"),
        Mistake(
            "tensors_counted_as_free",
            lambda c: c.total - c.occupied + c.reserved,
            "reserved bytes: some of them are in tensors that you still use",
        ),
        Mistake(
            "tensors_counted_as_free",
            lambda c: c.total - c.occupied + c.allocated,
            "allocated bytes: they are in tensors that you still use",
        ),
        Mistake(
            "cache_subtracted", lambda c: c.total - c.occupied - c.reserved + c.allocated, f"{CACHE} Plus or minus?"
        ),
        Mistake(
            "only_reserve_counted",
            lambda c: c.reserved,
            "reserved bytes: which are in use, and what is not reserved yet?",
        ),
        Mistake("all_of_the_device", lambda c: c.total, "what is in use and stays in use"),
        Mistake("in_use_for_new", lambda c: c.occupied - c.reserved + c.allocated, "bytes that are not in use"),
    ),
}


def occupied_answer(case: OccupiedCase) -> dict[str, int]:
    """Return the right answer for one case."""
    cache = case.reserved - case.allocated
    outside = case.occupied - case.reserved
    return dict(zip(KEYS, (outside, case.occupied - cache, case.total - case.occupied + cache), strict=True))


def judge_occupied_memory(observation: Observation, seed: int) -> Verdict:
    """Compare the three quantities of every case; the first miss is told."""
    cases, answers = occupied_cases(seed), observation.facts["answers"]
    for case, answer in zip(cases, answers, strict=True):
        for key, right in occupied_answer(case).items():
            if answer[key] != right:
                expected = f'"{key}": {say_bytes(right)} for {case.what}'
                mistake = _recognise(key, cases, answers)
                return failed(
                    mistake,
                    expected,
                    say_bytes(answer[key]),
                    f'"{key}": a bar of the device, cut at the four readings',
                )
    answer = occupied_answer(cases[0])
    measured = ", ".join(f"{key} {format_bytes(answer[key])}" for key in KEYS)
    return Verdict(PASSED, f"{len(cases)} devices", f"{len(cases)} devices; {cases[0].what}: {measured}")


def _recognise(
    key: str, cases: Sequence[OccupiedCase], answers: Sequence[Mapping[str, float]]
) -> Mistake[OccupiedCase] | None:
    seen = [answer[key] for answer in answers]
    mistake = recognise(MISTAKES[key], cases, seen, relative=1e-9)
    if mistake:
        return mistake
    unit = other_unit(seen, [occupied_answer(case)[key] for case in cases])
    if unit:
        return Mistake(unit.code, lambda c: occupied_answer(c)[key], unit.look_at)
    look_at = "numbers that are right for other devices: which of the four readings does your answer use?"
    written_down = Mistake[OccupiedCase]("visible_case_hard_coded", lambda c: occupied_answer(c)[key], look_at)
    return written_down if recognise((written_down,), occupied_cases(VISIBLE_SEED), seen, relative=1e-9) else None

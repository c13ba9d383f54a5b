"""Judges what a GPU's memory is occupied by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grader.judging.lessons.where_memory_goes.byte_counts import format_byte_count
from grader.judging.numbers import Mistake, failed, recognise
from grader.judging.references import VISIBLE_SEED
from grader.lessons.where_memory_goes.occupied import OccupiedCase, occupied_cases
from grader.observation import Observation
from grader.units import GIB, KIB, MIB, format_bytes
from grader.verdict import PASSED, Verdict

V100_CONTEXT_BYTES = 1343 * MIB
KEYS = ("outside", "after_empty_cache", "for_new_tensors")

MISTAKES: Mapping[str, tuple[Mistake[OccupiedCase], ...]] = {
    "outside": (
        Mistake(
            "cache_taken_for_outside",
            lambda c: c.occupied - c.allocated,
            "You count the cache as outside, but the allocator reserved it and knows of it. Subtract `reserved`.",
        ),
        Mistake(
            "free_taken_for_outside",
            lambda c: c.total - c.occupied,
            "You return the free bytes as outside. Return bytes that are in use.",
        ),
        Mistake(
            "cache_for_outside",
            lambda c: c.reserved - c.allocated,
            "You return the cache as outside. Return what is in use and was never reserved by the allocator: the "
            "context.",
        ),
        Mistake(
            "unreserved_taken_for_outside",
            lambda c: c.total - c.reserved,
            "You count free bytes as outside, too. Of what is not reserved, only a part is in use.",
        ),
        Mistake(
            "context_of_the_lesson",
            lambda c: V100_CONTEXT_BYTES,
            "You return 1,343 MiB, the context of the published V100. Compute the context of this device from its "
            "readings.",
        ),
        Mistake(
            "nothing_outside",
            lambda c: 0,
            "You return 0 outside, but the context is in use before the first tensor. Compare `occupied` with "
            "`reserved`.",
        ),
        Mistake(
            "reserve_taken_for_outside",
            lambda c: c.reserved,
            "You return as outside what the allocator itself holds. Return what it does not know of.",
        ),
        Mistake(
            "reserve_taken_for_outside",
            lambda c: c.allocated,
            "You return as outside what the allocator itself holds. Return what it does not know of.",
        ),
        Mistake(
            "all_in_use_taken_for_outside",
            lambda c: c.occupied,
            "You return all bytes in use as outside. Subtract those that PyTorch's allocator took.",
        ),
    ),
    "after_empty_cache": (
        Mistake(
            "cache_not_emptied",
            lambda c: c.occupied,
            "You leave the cache in use, but empty_cache() gives it back to the device. Subtract it.",
        ),
        Mistake(
            "only_tensors_stay",
            lambda c: c.allocated,
            "You let only tensors stay. The context stays in use, too: nvidia-smi shows it.",
        ),
        Mistake(
            "tensors_freed_too",
            lambda c: c.occupied - c.reserved,
            "You free the tensors as well. empty_cache() gives back only reserved bytes that no tensor uses.",
        ),
        Mistake(
            "tensors_freed_for_cache",
            lambda c: c.occupied - c.allocated,
            "You free the tensors and keep the cache. empty_cache() does the opposite.",
        ),
        Mistake(
            "only_reserve_stays",
            lambda c: c.reserved,
            "You keep the cache and drop the context. After empty_cache() it is the other way round.",
        ),
        Mistake(
            "bytes_given_back",
            lambda c: c.reserved - c.allocated,
            "You return the bytes that empty_cache() gives back. Return those that stay in use.",
        ),
        Mistake(
            "cache_taken_twice",
            lambda c: c.allocated - (c.reserved - c.allocated),
            "You subtract the cache from `allocated`, which does not contain it. Subtract it from `occupied`.",
        ),
    ),
    "for_new_tensors": (
        Mistake(
            "cache_not_used_again",
            lambda c: c.total - c.occupied,
            "You leave out the cache. New tensors take it before the allocator asks the device for more.",
        ),
        Mistake(
            "context_counted_as_free",
            lambda c: c.total - c.allocated,
            "You count the context as free. It is in use, outside of the allocator.",
        ),
        Mistake(
            "only_reserve_subtracted",
            lambda c: c.total - c.reserved,
            "You count the context as free and the cache as taken. Both are wrong for new tensors.",
        ),
        Mistake(
            "only_cache_counted",
            lambda c: c.reserved - c.allocated,
            "You count the cache only. Add the bytes of the device that nobody has taken yet.",
        ),
        Mistake(
            "tensors_counted_as_free",
            lambda c: c.total - c.occupied + c.reserved,
            "You count bytes as free that are in tensors. Add only the cache to what the device has left.",
        ),
        Mistake(
            "tensors_counted_as_free",
            lambda c: c.total - c.occupied + c.allocated,
            "You count bytes as free that are in tensors. Add only the cache to what the device has left.",
        ),
        Mistake(
            "cache_subtracted",
            lambda c: c.total - c.occupied - c.reserved + c.allocated,
            "You subtract the cache from the free bytes. Add it: new tensors can take it.",
        ),
        Mistake(
            "only_reserve_counted",
            lambda c: c.reserved,
            "You return what is reserved. Leave out what tensors use, and add what is not taken yet.",
        ),
        Mistake(
            "all_of_the_device",
            lambda c: c.total,
            "You return the whole device. Subtract what is in use and stays in use.",
        ),
        Mistake(
            "in_use_for_new",
            lambda c: c.occupied - c.reserved + c.allocated,
            "You return the bytes that stay in use. Return those that are left for new tensors.",
        ),
    ),
}
UNITS = {
    "mebibytes_for_bytes": MIB,
    "megabytes_for_bytes": 10**6,
    "gibibytes_for_bytes": GIB,
    "gigabytes_for_bytes": 10**9,
    "kibibytes_for_bytes": KIB,
    "kilobytes_for_bytes": 10**3,
}
UNIT_NAMES = dict(zip(UNITS, ("MiB", "MB", "GiB", "GB", "KiB", "kB"), strict=True))


def occupied_answer(case: OccupiedCase) -> dict[str, int]:
    """Return the right answer for one case."""
    cache = case.reserved - case.allocated
    outside = case.occupied - case.reserved
    return dict(zip(KEYS, (outside, case.occupied - cache, case.total - case.occupied + cache), strict=True))


def judge_occupied_memory(observation: Observation, seed: int) -> Verdict:
    """Compare the three quantities of every case; report the first that differs."""
    cases, answers = occupied_cases(seed), observation.facts["answers"]
    for case, answer in zip(cases, answers, strict=True):
        for key, right in occupied_answer(case).items():
            if answer[key] != right:
                expected = f'"{key}": {format_byte_count(right)} for {case.what}'
                mistake = _recognise(key, cases, answers)
                return failed(
                    mistake,
                    expected,
                    format_byte_count(answer[key]),
                    f'You combine other readings for "{key}". Draw the device as a bar, cut at the readings.',
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
    unit = _other_unit(seen, [occupied_answer(case)[key] for case in cases])
    if unit:
        look_at = f"You return {UNIT_NAMES[unit]}. Return bytes."
        return Mistake(unit, lambda c: occupied_answer(c)[key], look_at)
    look_at = "You return numbers that are right for other devices. Compute each from the four readings."
    written_down = Mistake[OccupiedCase]("visible_case_hard_coded", lambda c: occupied_answer(c)[key], look_at)
    return written_down if recognise((written_down,), occupied_cases(VISIBLE_SEED), seen, relative=1e-9) else None


def _other_unit(answers: Sequence[float], rights: Sequence[float]) -> str | None:
    """Return the unit in which all answers are right, exactly or to a whole number; None if there is none."""
    for code, unit_bytes in UNITS.items():
        if any(answers) and all(_is_in_unit(*pair, unit_bytes) for pair in zip(answers, rights, strict=True)):
            return code
    return None


def _is_in_unit(answer: float, right: float, unit_bytes: float) -> bool:
    units = right / unit_bytes
    return answer in (units // 1, round(units)) or abs(answer - units) <= 1e-3 * units

"""Patterns in predicted peaks that no list of pieces explains: another unit, another chain, a wrong choice."""

from __future__ import annotations

from collections.abc import Sequence

from grader.judging.lessons.where_memory_goes.step_sizes import BACKWARD, UPDATE, bytes_of
from grader.judging.lessons.where_memory_goes.step_truth import true_peak
from grader.judging.numbers import Mistake, recognise
from grader.judging.references import VISIBLE_SEED
from grader.lessons.where_memory_goes.step_peak import ChainStep, step_cases
from grader.units import MIB

MEGABYTE = 10**6
ROUNDING = 1e-6  # of an answer that went through another unit

Pattern = tuple[str, str, str]  # code, what was found, where to look

BYTES = "You return numbers, not bytes. A float32 number takes 4."
UNITS: tuple[Mistake[ChainStep], ...] = (
    Mistake("elements_for_bytes", lambda c: true_peak(c) / 4, BYTES),
    Mistake(
        "eight_bytes_for_a_number",
        lambda c: true_peak(c) * 2,
        "You count 8 bytes for each number. A float32 number takes 4.",
    ),
    Mistake(
        "two_bytes_for_a_number",
        lambda c: true_peak(c) / 2,
        "You count 2 bytes for each number. These are float32 numbers, which take 4.",
    ),
    Mistake("bits_for_bytes", lambda c: true_peak(c) * 8, ("You return bits. Return bytes, of 8 bits each.")),
    Mistake("kibibytes_for_bytes", lambda c: true_peak(c) / 2**10, ("You return KiB. Return bytes.")),
    Mistake("mebibytes_for_bytes", lambda c: true_peak(c) / MIB, ("You return MiB. Return bytes.")),
    Mistake("megabytes_for_bytes", lambda c: true_peak(c) / MEGABYTE, ("You return MB. Return bytes.")),
    Mistake(
        "megabytes_taken_for_mebibytes",
        lambda c: true_peak(c) / MEGABYTE * MIB,
        "You divide by 10**6 and multiply by 2**20, so you are off by a factor of 1.049. One MiB is 2**20 bytes.",
    ),
    Mistake(
        "mebibytes_taken_for_megabytes",
        lambda c: true_peak(c) / MIB * MEGABYTE,
        "You divide by 2**20 and multiply by 10**6, so you are off by a factor of 0.954. One MB is 10**6 bytes.",
    ),
)
_ROUNDED_UNITS = tuple(unit for unit in UNITS if unit.code in ("mebibytes_for_bytes", "megabytes_for_bytes"))


def find_unit(cases: Sequence[ChainStep], answers: Sequence[float]) -> Pattern | None:
    """Return the unit that the right peaks are in, if it is not bytes."""
    unit = recognise(UNITS, cases, answers, ROUNDING) or _rounded_unit(cases, answers)
    return (unit.code, "the right peak in another unit", unit.look_at) if unit else None


def find_pattern(cases: Sequence[ChainStep], answers: Sequence[float]) -> Pattern | None:
    """Return a pattern that the answers have in common, if there is one."""
    hits = [answer == true_peak(case) for case, answer in zip(cases, answers, strict=True)]
    if list(answers) == [true_peak(case) for case in step_cases(VISIBLE_SEED)]:
        look_at = "You return peaks that are right for other chains. Compute each from the four arguments."
        return "visible_case_hard_coded", "", look_at
    if len(set(answers)) == 1:
        look_at = "You return the same number for all chains. Use the four arguments."
        return "one_number_for_all", f"the same number for all {len(cases)} chains", look_at
    if all(abs(answer) < MIB for answer in answers):
        look_at = "Your numbers are too small for bytes, of which these chains hold millions. Look at the unit."
        return "another_unit", "too few for bytes", look_at
    moments = [{bytes_of(BACKWARD, case), bytes_of(UPDATE, case)} for case in cases]
    if all(answer in both for answer, both in zip(answers, moments, strict=True)):
        look_at = "You compute both moments, but choose the wrong one. Return the larger."
        return "other_moment_chosen", "one of the two moments, and not the larger", look_at
    if hits == [case.blocks == 1 for case in cases]:
        return (
            "blocks_misapplied",
            "",
            "Your answer is right for one block and wrong for several. Look at what you multiply by `blocks`.",
        )
    if hits == [case.hidden == 4 * case.width for case in cases]:
        return (
            "shape_of_the_lesson",
            "",
            "Your answer is right for hidden = 4 * width only. Look for a place where `hidden` is missing.",
        )
    if all(abs(answer / true_peak(case) - 1) < 1e-3 for case, answer in zip(cases, answers, strict=True)):
        return (
            "nearly_right",
            "within 0.1 % everywhere",
            "You miss or round something small. Look at the smallest of the pieces.",
        )
    return None


def _rounded_unit(cases: Sequence[ChainStep], answers: Sequence[float]) -> Mistake[ChainStep] | None:
    """Return MiB or MB where every answer is one of them, rounded to a whole number: the one that is nearer."""

    def distance(mistake: Mistake[ChainStep]) -> float:
        return max(abs(answer - mistake.yields(case)) for case, answer in zip(cases, answers, strict=True))

    nearest = min(_ROUNDED_UNITS, key=distance)
    return nearest if distance(nearest) <= 1 else None

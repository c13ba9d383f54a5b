"""Patterns in predicted peaks that no list of pieces explains: another unit, another chain, a wrong choice."""

from __future__ import annotations

from collections.abc import Sequence

from grader.judging.lessons.where_memory_goes.step_sizes import BACKWARD, UPDATE, bytes_of
from grader.judging.lessons.where_memory_goes.step_truth import true_peak
from grader.judging.numbers import Mistake, recognise
from grader.lessons.where_memory_goes.step_peak import ChainStep, step_cases
from grader.units import MIB

VISIBLE_SEED = 0  # of the cases that a learner has seen
MEGABYTE = 10**6
ROUNDING = 1e-6  # of an answer that went through another unit

Pattern = tuple[str, str, str]  # code, what was found, where to look

BYTES = "the unit: bytes are asked for, and one float32 number has four"
UNITS: tuple[Mistake[ChainStep], ...] = (
    Mistake("elements_for_bytes", lambda c: true_peak(c) / 4, BYTES),
    Mistake("eight_bytes_for_a_number", lambda c: true_peak(c) * 2, "how many bytes one float32 number takes"),
    Mistake("two_bytes_for_a_number", lambda c: true_peak(c) / 2, "how many bytes one float32 number takes"),
    Mistake("bits_for_bytes", lambda c: true_peak(c) * 8, BYTES),
    Mistake("kibibytes_for_bytes", lambda c: true_peak(c) / 2**10, BYTES),
    Mistake("mebibytes_for_bytes", lambda c: true_peak(c) / MIB, BYTES),
    Mistake("megabytes_for_bytes", lambda c: true_peak(c) / MEGABYTE, BYTES),
    Mistake(
        "megabytes_taken_for_mebibytes",
        lambda c: true_peak(c) / MEGABYTE * MIB,
        "a factor of 1.049: is your MB 10**6 bytes, and your MiB 2**20?",
    ),
    Mistake(
        "mebibytes_taken_for_megabytes",
        lambda c: true_peak(c) / MIB * MEGABYTE,
        "a factor of 0.954: is your MiB 2**20 bytes, and your MB 10**6?",
    ),
)
_ROUNDED_UNITS = tuple(unit for unit in UNITS if unit.code in ("mebibytes_for_bytes", "megabytes_for_bytes"))
_WRITTEN_DOWN = "numbers that are right for other chains: which arguments does your answer use?"


def find_unit(cases: Sequence[ChainStep], answers: Sequence[float]) -> Pattern | None:
    """Return the unit that the right peaks are in, if it is not bytes."""
    unit = recognise(UNITS, cases, answers, ROUNDING) or _rounded_unit(cases, answers)
    return (unit.code, "the right peak in another unit", unit.look_at) if unit else None


def find_pattern(cases: Sequence[ChainStep], answers: Sequence[float]) -> Pattern | None:
    """Return what the answers have in common, if it tells something."""
    hits = [answer == true_peak(case) for case, answer in zip(cases, answers, strict=True)]
    if list(answers) == [true_peak(case) for case in step_cases(VISIBLE_SEED)]:
        return "visible_case_hard_coded", "", _WRITTEN_DOWN
    if len(set(answers)) == 1:
        return "one_number_for_all", f"the same number for all {len(cases)} chains", _WRITTEN_DOWN
    if all(abs(answer) < MIB for answer in answers):
        return "another_unit", "too few for bytes: these chains hold millions", BYTES
    moments = [{bytes_of(BACKWARD, case), bytes_of(UPDATE, case)} for case in cases]
    if all(answer in both for answer, both in zip(answers, moments, strict=True)):
        return "other_moment_chosen", "one of the two moments, and not the larger", "how your answer picks the moment"
    if hits == [case.blocks == 1 for case in cases]:
        return "blocks_misapplied", "", "one block is right and several are not: what is multiplied by `blocks`?"
    if hits == [case.hidden == 4 * case.width for case in cases]:
        return (
            "shape_of_the_lesson",
            "",
            "hidden = 4 x width is right and another shape is not: where is `hidden` missing?",
        )
    if all(abs(answer / true_peak(case) - 1) < 1e-3 for case, answer in zip(cases, answers, strict=True)):
        return "nearly_right", "within 0.1 % everywhere", "the smallest of the pieces; and is anything rounded?"
    return None


def _rounded_unit(cases: Sequence[ChainStep], answers: Sequence[float]) -> Mistake[ChainStep] | None:
    """Return MiB or MB where every answer is one of them, rounded to a whole number: the one that is nearer."""

    def distance(mistake: Mistake[ChainStep]) -> float:
        return max(abs(answer - mistake.yields(case)) for case, answer in zip(cases, answers, strict=True))

    nearest = min(_ROUNDED_UNITS, key=distance)
    return nearest if distance(nearest) <= 1 else None

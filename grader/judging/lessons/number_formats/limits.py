"""Verdict on the predicted range and spacing of a format."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from grader.judging.lessons.number_formats.limits_joint import JOINT, KNOWN_FORMATS
from grader.judging.lessons.number_formats.limits_mistakes import MISTAKES
from grader.judging.lessons.number_formats.limits_truth import limits_of
from grader.judging.lessons.number_formats.wording import say_number
from grader.judging.numbers import Mistake, failed, recognise
from grader.lessons.number_formats.limits import LIMITS, LimitsCase, limits_cases
from grader.observation import Observation
from grader.verdict import PASSED, UNRECOGNISED, Verdict

TOLERANCE = 1e-9  # all of it is powers of two; a logarithm's rounding may stay
VISIBLE_SEED = 0  # of the cases that a learner has seen

Answers = Sequence[Mapping[str, float]]

OTHERWISE = {
    "largest": "the largest stored exponent that stands for a number, and a mantissa of ones",
    "smallest_normal": "the smallest stored exponent of a normal number is 1: which power of two is that?",
    "smallest_subnormal": "the last mantissa bit alone, with the power of two of exponent 0",
    "spacing": "the power of two at or below the number, cut into 2**mantissa_bits steps",
}


def judge_format_limits(observation: Observation, seed: int) -> Verdict:
    """Compare the four limits of every format; the first miss is told, with what explains all of its kind."""
    cases, answers = limits_cases(seed), observation.facts["answers"]
    for key in LIMITS:
        for case, answer in zip(cases, answers, strict=True):
            truth = limits_of(case)[key]
            if not math.isclose(answer[key], truth, rel_tol=TOLERANCE):
                at = f" at {say_number(case.number)}, {case.what}" if key == "spacing" else ""
                expected = f'"{key}" of {case.bit_format}{at}: {say_number(truth)}'
                ratio = f", {answer[key] / truth:.7g} times that"
                measured = say_number(answer[key]) + ratio
                return failed(_recognise(key, cases, answers), expected, measured, OTHERWISE[key])
    formats = ", ".join(str(case.bit_format) for case in cases)
    return Verdict(PASSED, "", f"{len(LIMITS) * len(cases)} limits right, of the formats {formats}")


def _recognise(key: str, cases: Sequence[LimitsCase], answers: Answers) -> Mistake[LimitsCase] | None:
    """Name the misconception: of all limits together, of one kind of them, or of numbers that were written down."""
    for code, look_at, yields in JOINT:
        if all(_agree(answer, yields(case)) for case, answer in zip(cases, answers, strict=True)):
            return Mistake(code, lambda case: limits_of(case)[key], look_at)
    given = [answer[key] for answer in answers]
    mistake = recognise(MISTAKES[key], cases, given, TOLERANCE)
    if mistake:
        return mistake
    visible = Mistake[LimitsCase](
        "visible_case_hard_coded",
        lambda case: limits_of(case)[key],
        "numbers that are right for other formats: how do they follow from the counts of bits?",
    )
    if recognise((visible,), limits_cases(VISIBLE_SEED), given, TOLERANCE):
        return visible
    known = [limits[key] for limits in KNOWN_FORMATS.values() if key in limits]
    if all(any(math.isclose(value, limit, rel_tol=1e-5) for limit in known) for value in given):
        look_at = "limits of formats that torch has: how do they follow from the counts of bits?"
        return Mistake("limits_of_known_formats", visible.yields, look_at)
    wrong = [case for case, value in zip(cases, given, strict=True) if not _is_right(value, limits_of(case)[key])]
    if key == "spacing" and len(wrong) < len(cases):
        places = ", ".join(dict.fromkeys(case.what for case in wrong))
        return Mistake("spacing_wrong_in_places", visible.yields, f"{OTHERWISE[key]}. It is wrong for {places}.")
    return Mistake(UNRECOGNISED, visible.yields, OTHERWISE[key])


def _agree(answer: Mapping[str, float], yielded: Mapping[str, float]) -> bool:
    return all(_is_right(answer[key], value) for key, value in yielded.items())


def _is_right(value: float, truth: float) -> bool:
    return math.isclose(value, truth, rel_tol=TOLERANCE)

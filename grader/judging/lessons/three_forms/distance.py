"""Verdict on the relative distance of two trained models."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from grader.judging.equivalence import RELATIVE_TOLERANCE
from grader.judging.lessons.three_forms.distance_mistakes import MISTAKES
from grader.judging.lessons.three_forms.distance_reference import apart, distance, moved
from grader.judging.numbers import Mistake, failed, recognise
from grader.lessons.three_forms.distance import DistanceCase, distance_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

Outcome = Mapping[str, Any]  # the "value" that was returned; or "raised", the name of the error, and its "text"

UNMOVED = "a ValueError with a text, where the reference has the weights of the start"


def judge_relative_distance(observation: Observation, seed: int) -> Verdict:
    """Compare every distance with the ratio of two norms, then look at the settings at the edge."""
    facts = observation.facts
    verdict = (
        _judge_untouched([*facts["distances"], facts["equal"], facts["untrained"], *facts["unmoved"]])
        or _judge_values(distance_cases(seed), facts["distances"], seed)
        or _judge_edge(facts["equal"], 0.0, "equal_models", "model and reference have equal weights")
        or _judge_edge(facts["untrained"], 1.0, "untrained_model", "the model has the weights of the start")
    )
    if verdict:
        return verdict
    for outcome in facts["unmoved"]:
        verdict = _judge_unmoved(outcome)
        if verdict:
            return verdict
    measured = f"{len(facts['distances'])} distances, of equal weights 0, of an untrained model 1"
    return Verdict(PASSED, "norm of the difference over norm of the movement", measured)


def _judge_untouched(outcomes: Sequence[Outcome]) -> Verdict | None:
    if not any(outcome["has_changed_models"] for outcome in outcomes):
        return None
    look_at = "operations that write into a parameter: their names end in an underscore"
    return Verdict("models_changed", "three models as they were", "weights that your function changed", look_at)


def _judge_values(cases: Sequence[DistanceCase], outcomes: Sequence[Outcome], seed: int) -> Verdict | None:
    for case, outcome in zip(cases, outcomes, strict=True):
        if "raised" in outcome:
            return _explain_error(case, outcome)
    answers = [float(outcome["value"]) for outcome in outcomes]
    wrong = [
        (case, answer)
        for case, answer in zip(cases, answers, strict=True)
        if not abs(answer - distance(case)) <= RELATIVE_TOLERANCE * distance(case)
    ]
    if not wrong:
        return None
    case, answer = min(wrong, key=lambda miss: math.isfinite(miss[1]))  # what is not finite comes first
    mistake = recognise(_mistakes(seed), cases, answers) or _by_form(answers)
    if mistake is None and case in cases[:2]:  # some formulas lose all their digits where a difference is small
        mistake = recognise(_mistakes(seed), cases[:2], answers[:2])
    return failed(mistake, _say(case), f"{answer:.6g}", "which two norms your function divides")


def _explain_error(case: DistanceCase, outcome: Outcome) -> Verdict:
    measured = f"{outcome['raised']}: {outcome['text']}"
    if outcome["raised"] == "ZeroDivisionError":
        return Verdict("divided_by_zero", _say(case), measured, "your divisor: which norm is 0 here?")
    if case.scale > 100:
        look_at = "the test for a reference that has not moved: next to large weights a small movement is still one"
        return Verdict("small_movement_refused", _say(case), measured, look_at)
    return Verdict("movement_refused", _say(case), measured, "the condition in front of your ValueError")


def _mistakes(seed: int) -> tuple[Mistake[DistanceCase], ...]:
    if seed == 0:
        return MISTAKES
    visible = {case: distance(known) for case, known in zip(distance_cases(seed), distance_cases(0), strict=True)}
    look_at = "these are the distances of the visible case: what does your function compute?"
    return (*MISTAKES, Mistake("visible_case_hard_coded", visible.__getitem__, look_at))


def _by_form(answers: Sequence[float]) -> Mistake[DistanceCase] | None:
    """Recognise what many formulas have in common that are wrong in the same way."""
    if not all(math.isfinite(answer) for answer in answers):
        return Mistake("not_finite", distance, "a division by zero, or the root of a negative number")
    if max(answers) == min(answers):
        return Mistake("same_for_all_models", distance, "which of the three models enter your result?")
    return None


def _judge_edge(outcome: Outcome, wanted: float, what: str, setting: str) -> Verdict | None:
    expected = f"{wanted:g}, where {setting}"
    if "raised" in outcome:
        measured = f"{outcome['raised']}: {outcome['text']}"
        return Verdict(f"{what}_refused", expected, measured, "what your function tests: did the reference move?")
    if abs(outcome["value"] - wanted) <= RELATIVE_TOLERANCE:
        return None
    return Verdict(f"{what}_not_{wanted:g}", expected, f"{outcome['value']:.6g}", "which two norms are divided")


def _judge_unmoved(outcome: Outcome) -> Verdict | None:
    if "raised" not in outcome:
        code, look_at = _explain_value_of_unmoved(outcome["value"])
        return Verdict(code, UNMOVED, f"{outcome['value']} returned", look_at)
    text, name = outcome["text"], outcome["raised"]
    if not outcome["is_value_error"]:
        code = "division_error_raised" if name == "ZeroDivisionError" else "other_error_raised"
        measured = f"{name}: {text}" if text else f"{name} without a text"
        return Verdict(code, UNMOVED, measured, "which error the caller is promised, and who raises it")
    if text:
        return None
    look_at = "what the caller reads: which of the three models is at fault, and why?"
    return Verdict("error_without_text", UNMOVED, "a ValueError without a text", look_at)


def _explain_value_of_unmoved(value: float | None) -> tuple[str, str]:
    if value is None:
        return "unmoved_reference_not_raised", "a printed line is no error: the caller goes on with None"
    if not math.isfinite(value):
        return "unmoved_reference_not_finite", "a division by a movement of 0: who notices it?"
    if value == 0:
        return "unmoved_reference_zero", "a distance of 0 says that both models have equal weights"
    return "unmoved_reference_hidden", "what the divisor is here: no number stands for a training that did not happen"


def _say(case: DistanceCase) -> str:
    return f"{distance(case):.6g}: a difference of norm {apart(case):.4g} over a movement of norm {moved(case):.4g}"

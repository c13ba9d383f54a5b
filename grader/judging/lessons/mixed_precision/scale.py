"""Verdict on the predicted loss scale."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from grader.judging.lessons.mixed_precision.scale_rules import DEFAULT_SCALE, WRONG_RULES, Rule, fold, right_rule
from grader.judging.numbers import Mistake, failed, recognise
from grader.lessons.mixed_precision.scales import ScaleCase, scale_cases, scale_histories
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

EXACT = 1e-9  # powers of two are exact in every format that has them
VISIBLE_SEED = 0  # of the cases that a learner has seen


def _after(rule: Rule, case: ScaleCase) -> float:
    return fold(rule, case.start_scale, case.growth_interval, case.found_inf)


def right_scale(case: ScaleCase) -> float:
    """Return the scale after the history."""
    return _after(right_rule, case)


def _before_last(case: ScaleCase) -> float:
    return right_scale(ScaleCase(case.start_scale, case.growth_interval, case.found_inf[:-1]))


def _never_above_start(case: ScaleCase) -> float:
    def rule(scale: float, good: int, is_inf: bool, interval: int) -> tuple[float, int]:
        scale, good = right_rule(scale, good, is_inf, interval)
        return min(scale, case.start_scale), good

    return _after(rule, case)


def _never_below_start(case: ScaleCase) -> float:
    def rule(scale: float, good: int, is_inf: bool, interval: int) -> tuple[float, int]:
        return (case.start_scale, 0) if is_inf else right_rule(scale, good, is_inf, interval)

    return _after(rule, case)


def _half_of_start(case: ScaleCase) -> float:
    def rule(scale: float, good: int, is_inf: bool, interval: int) -> tuple[float, int]:
        return (case.start_scale / 2, 0) if is_inf else right_rule(scale, good, is_inf, interval)

    return _after(rule, case)


def _never_above_default(case: ScaleCase) -> float:
    def rule(scale: float, good: int, is_inf: bool, interval: int) -> tuple[float, int]:
        scale, good = right_rule(scale, good, is_inf, interval)
        return min(scale, DEFAULT_SCALE), good

    return _after(rule, case)


def _default_start(case: ScaleCase) -> float:
    return right_scale(ScaleCase(DEFAULT_SCALE, case.growth_interval, case.found_inf))


MISTAKES: tuple[Mistake[ScaleCase], ...] = (
    *(Mistake(wrong.code, partial(_after, wrong.rule), wrong.look_at) for wrong in WRONG_RULES),
    Mistake("last_update_forgotten", _before_last, "the scale after the last update, not the one that it used"),
    Mistake("never_above_start", _never_above_start, "the scale may grow beyond the one that it started with"),
    Mistake("back_to_start", _never_below_start, "back-off: the scale is halved, and not set to where it started"),
    Mistake(
        "half_of_start", _half_of_start, "back-off halves the scale as it is now, not the one that it started with"
    ),
    Mistake("never_above_default", _never_above_default, "65,536 is where PyTorch begins: a scale has no upper limit"),
    Mistake("default_start_scale", _default_start, "start_scale: 65,536 is the default of one library only"),
    Mistake("exponent_returned", lambda c: math.log2(right_scale(c)), "the scale itself is asked for: 2 to that power"),
    Mistake("inverse_returned", lambda c: 1 / right_scale(c), "the scale itself is asked for, not what undoes it"),
)


def judge_predicted_scale(observation: Observation, seed: int) -> Verdict:
    """Compare the scale after every update of four histories, and name the rule that explains a miss."""
    cases, predicted = scale_cases(seed), observation.facts["predicted_scales"]
    for case, answer in zip(cases, predicted, strict=True):
        right = right_scale(case)
        if not abs(answer - right) <= EXACT * right:
            mistake = recognise(MISTAKES, cases, predicted, relative=EXACT) or _hard_coded(predicted)
            expected = f"{right:,.6g} {_describe(case)}"
            otherwise = "go through the history update by update: inf halves, so many good ones in a row double"
            return failed(mistake, expected, f"{answer:,.6g}", otherwise)
    count = len(scale_histories(seed))
    return Verdict(PASSED, "the scale after every update", f"{len(cases)} scales, along {count} histories")


def _hard_coded(predicted: Sequence[float]) -> Mistake[ScaleCase] | None:
    if len(set(predicted)) == 1:
        look_at = "the answer is the same for every history: which arguments does it use?"
        return Mistake("one_number_for_all", right_scale, look_at)
    look_at = "numbers that are right for other histories: which arguments does your answer use?"
    written_down = Mistake("visible_case_hard_coded", right_scale, look_at)
    visible = [right_scale(case) for case in scale_cases(VISIBLE_SEED)]
    return written_down if set(predicted) <= set(visible) else None


def _describe(case: ScaleCase) -> str:
    infs = [str(update) for update, is_inf in enumerate(case.found_inf) if is_inf]
    history = f"inf at update {', '.join(infs)}" if infs else "no inf"
    start = f"from {case.start_scale:,.0f}, growth after {case.growth_interval}"
    return f"after {len(case.found_inf)} updates ({start}, {history}; counted from 0)"

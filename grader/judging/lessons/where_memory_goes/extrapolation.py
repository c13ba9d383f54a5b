"""Verdict on the peak of a large model, found from two small ones."""

from __future__ import annotations

import math
from collections.abc import Sequence

from grader.judging.lessons.where_memory_goes.line_mistakes import LINE_MISTAKES, LINES, fixed_bytes, layer_bytes, truth
from grader.judging.lessons.where_memory_goes.wording import say_bytes
from grader.judging.numbers import Mistake, failed, recognise
from grader.lessons.where_memory_goes.extrapolation import ExtrapolationCase, extrapolation_cases
from grader.observation import Observation
from grader.units import MIB
from grader.verdict import PASSED, Verdict

TOLERANCE = 1e-6  # a division of floats is not exact to the byte
VISIBLE_SEED = 0  # of the cases that a learner has seen

WRITTEN_DOWN = Mistake[ExtrapolationCase](
    "visible_case_hard_coded", truth, "numbers that are right for other models: what does your answer depend on?"
)
ROUNDED = Mistake[ExtrapolationCase](
    "answer_rounded", truth, "a rounding of the small figures: what becomes of it over many layers?"
)
ANOTHER_UNIT = Mistake[ExtrapolationCase]("another_unit", truth, "the unit: bytes are asked for")
_UNITS = tuple(mistake for mistake in LINE_MISTAKES if mistake.code.endswith("_for_bytes"))
_OTHERWISE = "what the two small models share, and what one layer adds: how do two figures give both?"


def judge_extrapolated_peak(observation: Observation, seed: int) -> Verdict:
    """Compare every answer with the line through the two small models, and name what explains a miss."""
    cases, answers = extrapolation_cases(seed), observation.facts["extrapolated_bytes"]
    for case, answer in zip(cases, answers, strict=True):
        if not math.isclose(answer, truth(case), rel_tol=TOLERANCE):
            expected = f"{say_bytes(truth(case))} for {case.layers} layers, from models with {case.few} and {case.more}"
            return failed(_recognise(cases, answers), expected, _say_answer(case, answer), _OTHERWISE)
    for case, asked in zip(cases, observation.facts["asked_layers"], strict=True):
        if not {case.few, case.more} <= set(asked):
            measured = f"forecasts for {sorted(set(asked))} layers" if asked else "no forecast"
            expected = f"a forecast for {case.few} layers and one for {case.more}"
            return Verdict("small_models_not_forecast", expected, measured, "where your two figures come from")
    measured = f"{len(cases)} models, each from two small ones; BERT-large {say_bytes(truth(cases[0]))}"
    return Verdict(PASSED, f"{len(cases)} peaks to the byte", measured)


def _recognise(cases: Sequence[ExtrapolationCase], answers: Sequence[float]) -> Mistake[ExtrapolationCase] | None:
    """Name the misconception, from the exact ones to those that show in a pattern only."""
    mistake = recognise(LINE_MISTAKES, cases, answers, TOLERANCE)
    if mistake:
        return mistake
    if recognise((WRITTEN_DOWN,), extrapolation_cases(VISIBLE_SEED), answers, TOLERANCE):
        return WRITTEN_DOWN
    shifts = [_layers_for(case, answer) - case.layers for case, answer in zip(cases, answers, strict=True)]
    if abs(shifts[0]) > 0.1 and all(abs(shift - shifts[0]) < 1e-3 for shift in shifts):
        look_at = (
            f"each answer is the peak with {shifts[0]:+.3g} layers: which layers are counted once too often or not?"
        )
        return Mistake("layers_miscounted", truth, look_at)
    if all(abs(answer) < MIB for answer in answers):
        return recognise(_UNITS, cases, answers, relative=0.02) or ANOTHER_UNIT
    return recognise(LINES, cases, answers, TOLERANCE) or recognise((ROUNDED,), cases, answers, relative=0.01)


def _layers_for(case: ExtrapolationCase, answer: float) -> float:
    """Return how many layers a model with that peak would have."""
    return (answer - fixed_bytes(case)) / layer_bytes(case)


def _say_answer(case: ExtrapolationCase, answer: float) -> str:
    """Say an answer, with the model that it would be right for, if there is one."""
    layers = _layers_for(case, answer)
    return say_bytes(answer) + (f", as if the model had {layers:,.4g} layers" if layers > 0 else "")

"""The relative distance: each misconception is named by the numbers that it yields, at two seeds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from grader.judging.lessons.three_forms.distance import judge_relative_distance
from grader.judging.lessons.three_forms.distance_mistakes import MISTAKES
from grader.judging.lessons.three_forms.distance_reference import distance
from grader.lessons.three_forms.distance import DistanceCase, distance_cases
from grader.observation import Observation
from grader.verdict import UNRECOGNISED, Verdict

SEEDS = (0, 20011)

Outcome = dict[str, Any]


def returned(value: float | None) -> Outcome:
    return {"value": value, "has_changed_models": False}


def raised(name: str, text: str) -> Outcome:
    return {"raised": name, "is_value_error": name == "ValueError", "text": text, "has_changed_models": False}


REFUSED = raised("ValueError", "the reference has not moved")


def judge(answer: Callable[[DistanceCase], float], seed: int, **changed: object) -> Verdict:
    facts = {
        "distances": [returned(answer(case)) for case in distance_cases(seed)],
        "equal": returned(0.0),
        "untrained": returned(1.0),
        "unmoved": [REFUSED, REFUSED],
    }
    return judge_relative_distance(Observation(facts | changed), seed)


@pytest.mark.parametrize("seed", [*SEEDS, 3, 4, 5])
def test_the_ratio_of_both_norms_passes_within_its_tolerance(seed: int) -> None:
    assert judge(distance, seed).is_passed
    assert judge(lambda case: distance(case) * (1 + 5e-5), seed).is_passed
    assert not judge(lambda case: distance(case) * (1 + 5e-4), seed).is_passed


@pytest.mark.parametrize("seed", [*SEEDS, 3, 4, 5])
@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.code)
def test_every_misconception_is_named(mistake, seed: int) -> None:
    verdict = judge(mistake.yields, seed)
    assert (verdict.code, verdict.look_at) == (mistake.code, mistake.look_at)


def test_distances_of_the_visible_case_are_named_on_another() -> None:
    visible = dict(zip(distance_cases(20011), distance_cases(0), strict=True))
    assert judge(lambda case: distance(visible[case]), 20011).code == "visible_case_hard_coded"


@pytest.mark.parametrize("seed", SEEDS)
def test_a_formula_that_loses_its_digits_is_named_by_the_settings_where_it_has_them(seed: int) -> None:
    percent = {case: 100 * distance(case) for case in distance_cases(seed)}
    percent[distance_cases(seed)[3]] = 0.0
    assert judge(percent.__getitem__, seed).code == "percent_returned"


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (lambda case: float("nan"), "not_finite"),
        (lambda case: 0.0, "same_for_all_models"),
        (lambda case: distance(case) + case.scale / 7, UNRECOGNISED),
    ],
)
def test_other_numbers_are_told_by_what_they_have_in_common(answer, code: str) -> None:
    assert judge(answer, 0).code == code


@pytest.mark.parametrize(
    ("setting", "code"),
    [(0, "movement_refused"), (2, "small_movement_refused")],
)
def test_an_error_where_the_reference_moved_is_told(setting: int, code: str) -> None:
    distances = [returned(distance(case)) for case in distance_cases(0)]
    distances[setting] = REFUSED
    assert judge(distance, 0, distances=distances).code == code


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"equal": REFUSED}, "equal_models_refused"),
        ({"equal": returned(0.5)}, "equal_models_not_0"),
        ({"untrained": REFUSED}, "untrained_model_refused"),
        ({"untrained": returned(0.0)}, "untrained_model_not_1"),
        ({"unmoved": [returned(float("inf")), REFUSED]}, "unmoved_reference_not_finite"),
        ({"unmoved": [REFUSED, returned(float("nan"))]}, "unmoved_reference_not_finite"),
        ({"unmoved": [returned(0.0), returned(0.0)]}, "unmoved_reference_zero"),
        ({"unmoved": [returned(1e8), returned(0.0)]}, "unmoved_reference_hidden"),
        ({"unmoved": [returned(None), returned(None)]}, "unmoved_reference_not_raised"),
        ({"unmoved": [raised("ZeroDivisionError", "division by zero")] * 2}, "division_error_raised"),
        ({"unmoved": [raised("AssertionError", "")] * 2}, "other_error_raised"),
        ({"unmoved": [raised("ValueError", "")] * 2}, "error_without_text"),
        ({"equal": returned(0.0) | {"has_changed_models": True}}, "models_changed"),
    ],
)
def test_the_settings_at_the_edge_are_judged_by_their_own_codes(changed: dict[str, object], code: str) -> None:
    verdict = judge(distance, 0, **changed)
    assert verdict.code == code
    assert verdict.look_at


def test_a_miss_is_told_with_the_two_norms_that_are_divided() -> None:
    verdict = judge(lambda case: 2.0, 0)
    assert "a difference of norm" in verdict.expected
    assert "a movement of norm" in verdict.expected

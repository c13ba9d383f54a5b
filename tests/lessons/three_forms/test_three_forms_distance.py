"""The judge of the relative distance, on evidence that its bank and the proof of its table do not give."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from grader.judging.lessons.three_forms.distance import TABLE, judge_relative_distance
from grader.lessons.three_forms.distance import distance_cases
from grader.observation import Observation
from grader.verdict import UNRECOGNISED, Verdict

SEEDS = (0, 20011)

Outcome = dict[str, Any]


def returned(value: float | None) -> Outcome:
    return {"value": value, "has_changed_models": False}


def raised(name: str, text: str) -> Outcome:
    return {"raised": name, "is_value_error": name == "ValueError", "text": text, "has_changed_models": False}


REFUSED = raised("ValueError", "the reference has not moved")


def judge(seed: int = 0, factor: float = 1.0, **changed: object) -> Verdict:
    facts = {
        "distances": [returned(factor * truth) for truth in TABLE.truths(seed)],
        "equal": returned(0.0),
        "untrained": returned(1.0),
        "unmoved": [REFUSED, REFUSED],
    }
    return judge_relative_distance(Observation(facts | changed), seed)


def judge_values(values: list[float]) -> str:
    return judge(distances=[returned(value) for value in values]).code


@pytest.mark.parametrize("seed", SEEDS)
def test_the_ratio_of_both_norms_passes_within_its_tolerance(seed: int) -> None:
    model, reference, start = (
        torch.cat([parameter.detach().flatten() for parameter in each.parameters()])
        for each in distance_cases(seed)[0].make_models()
    )
    assert TABLE.truths(seed)[0] == pytest.approx(float((model - reference).norm() / (reference - start).norm()))
    assert judge(seed).is_passed
    assert judge(seed, 1 + 5e-5).is_passed
    assert not judge(seed, 1 + 5e-4).is_passed


def test_other_numbers_are_named_by_what_they_have_in_common() -> None:
    truths = TABLE.truths(0)
    assert judge_values([*(100 * truth for truth in truths[:3]), 0.0]) == "percent_returned"  # the last lost its digits
    assert judge_values([float("nan")] * 4) == "not_finite"
    assert judge_values([0.0] * 4) == "same_for_all_models"
    assert judge_values([truth + 1 / 7 for truth in truths]) == UNRECOGNISED


def test_an_error_where_the_reference_moved_is_named() -> None:
    for setting, code in ((0, "movement_refused"), (2, "small_movement_refused")):
        distances = [returned(truth) for truth in TABLE.truths(0)]
        distances[setting] = REFUSED
        assert judge(distances=distances).code == code
    distances[0] = raised("ZeroDivisionError", "division by zero")
    assert judge(distances=distances).code == "divided_by_zero"


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
    assert judge(**changed).code == code


def test_a_miss_is_shown_with_the_two_norms_that_are_divided() -> None:
    verdict = judge(factor=2.0)
    assert "a difference of norm" in verdict.expected
    assert "a movement of norm" in verdict.expected

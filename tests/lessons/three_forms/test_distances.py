from __future__ import annotations

import pytest
import torch

from grader import check_relative_distance, measure_weight_distance
from grader.lessons.three_forms.distance import distance_cases
from grader.lessons.three_forms.distances import ask_distance
from grader.verdict import CheckFailed


@pytest.fixture(autouse=True)
def no_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEAN_TRAINING_ATTEMPTS", "off")


def by_hand(model, reference, start):
    flat = [torch.cat([p.detach().flatten() for p in each.parameters()]) for each in (model, reference, start)]
    if torch.equal(flat[1], flat[2]):
        raise ValueError("the reference has not moved")
    return (flat[0] - flat[1]).norm() / (flat[1] - flat[2]).norm()


def code_of(answer) -> str:
    with pytest.raises(CheckFailed) as failure:
        check_relative_distance(answer)
    return failure.value.code


def test_the_instrument_is_refused_for_the_call_alone() -> None:
    def by_meter(model, reference, start):
        return measure_weight_distance(model, reference, start)

    assert code_of(by_meter) == "meter_called"
    model, reference, start = distance_cases(0)[0].make_models()
    expected = float(by_hand(model, reference, start))
    assert measure_weight_distance(model, reference, start) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("convert", [float, torch.Tensor.double, lambda value: value.numpy()[()]])
def test_any_number_passes(convert, capsys: pytest.CaptureFixture[str]) -> None:
    check_relative_distance(lambda model, reference, start: convert(by_hand(model, reference, start)))
    captured = capsys.readouterr()
    assert captured.out.startswith("passed: ")
    assert captured.err == ""


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (None, "returned_none"),
        (True, "yes_or_no_returned"),
        (torch.tensor(True), "yes_or_no_returned"),
        ("0.5", "wrong_type"),
        ([0.5], "wrong_type"),
        (torch.ones(2), "wrong_type"),
    ],
)
def test_what_is_no_number_is_named(value: object, code: str) -> None:
    assert code_of(lambda model, reference, start: value) == code


def test_an_error_of_another_kind_is_shown_unless_nothing_moved() -> None:
    def broken(model, reference, start):
        return {}["distance"]

    assert code_of(broken) == "raised_key_error"


def test_models_that_the_function_changes_are_seen() -> None:
    def zero(model, reference, start):
        with torch.no_grad():
            next(model.parameters()).zero_()
        return 0.0

    assert ask_distance(zero, distance_cases(0)[0])["has_changed_models"]

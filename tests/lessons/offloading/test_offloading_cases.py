"""The cases and references of lesson 19 hold what its checks rely on."""

from __future__ import annotations

import pytest
import torch

from grader.judging.lessons.offloading.saved import (
    GRADIENTS,
    Setting,
    _saved,
    goes_far,
    judge_offloaded_gradients,
    judge_offloaded_tensors,
)
from grader.judging.lessons.offloading.states import TRAFFIC, Update, judge_streamed_traffic
from grader.judging.lessons.offloading.streams import judge_streamed_prediction, stream
from grader.lessons.offloading.saved import saved_cases
from grader.lessons.offloading.states import streamed_cases
from grader.lessons.offloading.streams import streamed_models
from grader.observation import Observation

SEEDS = (0, 7, 20011, 1_234_567_890)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_two_largest_layers_are_no_neighbours(seed: int) -> None:
    for model in streamed_models(seed):
        sizes = sorted(model.layer_bytes)
        pairs = [sum(model.layer_bytes[at : at + 2]) for at in range(len(sizes) - 1)]
        assert len(sizes) == 1 or max(sizes) < max(pairs) < sum(sizes[-2:])


@pytest.mark.parametrize("seed", SEEDS)
def test_with_prefetch_some_slot_waits_for_each_engine(seed: int) -> None:
    waits = set()
    for model in streamed_models(seed):
        if model.prefetch and len(model.layer_bytes) > 1:
            fetches = [size / model.bytes_per_second for size in model.layer_bytes]
            waits |= {fetch > 2 * now for now, fetch in zip(model.forward_seconds, fetches[1:], strict=False)}
    assert waits == {True, False}


def test_the_example_of_the_lesson() -> None:
    sizes, seconds = (160_000_000, 640_000_000, 320_000_000), (0.048, 0.024, 0.048)
    assert stream(sizes, seconds, 10e9, True) == pytest.approx({"peak": 960_000_000, "seconds": 0.4})
    assert stream(sizes, seconds, 10e9, False) == pytest.approx({"peak": 640_000_000, "seconds": 0.552})


def test_a_right_prediction_passes() -> None:
    found = [stream(m.layer_bytes, m.forward_seconds, m.bytes_per_second, m.prefetch) for m in streamed_models(7)]
    predicted = [[one["peak"], one["seconds"]] for one in found]
    assert judge_streamed_prediction(Observation({"predicted": predicted}), 7).is_passed


@pytest.mark.parametrize("seed", SEEDS)
def test_saved_tensors_are_of_every_kind(seed: int) -> None:
    plain, tokens, views = saved_cases(seed)
    for case in (plain, tokens):
        kinds = {
            (one.tensor_bytes > case.threshold_bytes) - (one.tensor_bytes < case.threshold_bytes)
            for one in _saved(case)
        }
        assert kinds >= {0, 1}
    large = [one for one in _saved(tokens) if one.tensor_bytes >= tokens.threshold_bytes]
    assert {one.dtype for one in large} == {"float32", "int64", "bool"}
    assert any(one.is_own and one.is_parameter for one in large)
    assert any(one.is_own and not one.is_trained for one in large)
    assert any(one.is_own and one.is_offset for one in large)
    assert any(one.is_parameter and not one.is_own for one in large)
    assert any(one.has_own_shape and not one.is_own for one in large)
    assert any(one.tensor_bytes < views.threshold_bytes <= one.storage_bytes for one in _saved(views))
    assert all(any(goes_far(one, case.threshold_bytes) for one in _saved(case)) for case in (plain, tokens, views))


@pytest.mark.parametrize("seed", SEEDS)
def test_each_parameter_is_updated_and_each_is_absent_once(seed: int) -> None:
    _, case = streamed_cases(seed)
    assert {index for update in case.absent for index in update} == set(range(len(case.shapes)))
    assert any(numbers % case.chunk == 1 for numbers in case.numbers)


@pytest.mark.parametrize("judge", [judge_offloaded_gradients, judge_offloaded_tensors, judge_streamed_traffic])
def test_an_observation_of_other_settings_is_refused(judge) -> None:
    with pytest.raises((ValueError, LookupError)):
        judge(Observation({"settings": []}), 0)


@pytest.mark.parametrize(
    ("code", "facts", "loss", "gradient"),
    [
        (None, {}, 1.0, 1.0),
        ("gradients_missing", {"missing": 1}, 1.0, 1.0),
        ("other_loss", {}, 1.1, 1.0),
        ("far_tensor_shared", {"fetched_bytes": 16}, 1.0, 2.0),
    ],
)
def test_what_hooks_do_to_a_run_is_named(code, facts, loss, gradient) -> None:
    common = {"needs_gradient": True, "missing": 0, "sent_bytes": 8, "fetched_bytes": 8}
    numbers = torch.tensor([1.0, 2.0])
    setting = Setting(common | facts, torch.tensor(loss), gradient * numbers, torch.tensor(1.0), numbers)
    verdict = GRADIENTS.judge(setting, "", "")
    assert (verdict and verdict.code) == code


@pytest.mark.parametrize(
    ("code", "sent"), [(None, 64), (None, 96), ("sent_too_often", 97), ("sent_too_little", 63), ("nothing_sent", 0)]
)
def test_zeros_of_a_first_update_may_be_sent_and_nothing_else(code, sent) -> None:
    row = {"sizes": [4, 4], "early": 0, "sent": sent, "fetched": 32, "held": 64, "kept": 0}
    verdict = TRAFFIC.judge(Update(row, 4, (4, 4), state_bytes=64, known_bytes=32, all_bytes=64))
    assert (verdict and verdict.code) == code

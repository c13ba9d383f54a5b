from __future__ import annotations

import pytest
import torch

from grader.judging.lessons.mixed_precision.scale import TABLE, judge_predicted_scale, scale_after
from grader.judging.lessons.mixed_precision.scaled_updates import judge_scaled_updates, scaled_update
from grader.lessons.mixed_precision.checks import check_scaled_updates
from grader.lessons.mixed_precision.scaler_runs import observe_scaler
from grader.lessons.mixed_precision.scales import ScalerCase, scale_cases, scale_histories, scaler_cases
from grader.observation import Observation, decode_observation, encode_observation

SEEDS = (0, 20_011)


def follow_library(case: ScalerCase) -> tuple[list[float], list[torch.Tensor]]:
    """Return scale and weights after every update of torch.amp.GradScaler."""
    weights = case.make_weights()
    optimizer = case.make_optimizer(weights)
    scaler = torch.amp.GradScaler("cpu", init_scale=case.start_scale, growth_interval=case.growth_interval)
    scaler.scale(torch.zeros(()))
    scales, history = [], []
    for update in range(case.updates):
        for weight, gradient in zip(weights, case.scaled_gradients(update, scaler.get_scale()), strict=False):
            weight.grad = gradient
        scaler.step(optimizer)
        scaler.update()
        scales.append(scaler.get_scale())
        history.append(torch.cat([weight.detach().flatten() for weight in weights]))
    return scales, history


@pytest.mark.parametrize("seed", (0, 1, 2, 20_011))
def test_the_reference_scaler_does_what_torch_does(seed: int) -> None:
    for case in scaler_cases(seed):
        scales, history = follow_library(case)
        facts, tensors = observe_scaler(scaled_update, case)
        assert facts["scales"] == scales
        for update, weights in enumerate(history):
            torch.testing.assert_close(tensors[f"weights.{update}"].cpu(), weights)


@pytest.mark.parametrize("seed", (0, 1, 2, 20_011))
def test_predicted_scales_are_those_of_torch(seed: int) -> None:
    for case in scale_histories(seed):
        scaler = torch.amp.GradScaler("cpu", init_scale=case.start_scale, growth_interval=case.growth_interval)
        weight = torch.nn.Parameter(torch.zeros(1))
        optimizer = torch.optim.SGD([weight], lr=0.0)
        scaler.scale(torch.ones(1))
        for update, is_inf in enumerate(case.found_inf):
            weight.grad = torch.full((1,), float("inf") if is_inf else 1.0)
            scaler.step(optimizer)
            scaler.update()
            history = case.found_inf[: update + 1]
            assert scaler.get_scale() == scale_after(case.start_scale, case.growth_interval, history)


def test_a_count_that_is_not_reset_gives_65536_for_32768_after_step_4() -> None:
    place = next(index for index, case in enumerate(scale_cases(0)) if len(case.found_inf) == 5)
    (version,) = TABLE.versions["count_not_reset"]
    assert TABLE.truths(0)[place] == 32_768
    assert TABLE.values(version, 0)[place] == 65_536


@pytest.mark.parametrize("number", (float("nan"), 3.0))
def test_other_scales_never_pass(number: float) -> None:
    predicted = [number] * len(scale_cases(0))
    assert judge_predicted_scale(Observation({"predicted_scales": predicted}), 0).code == "unrecognised"


def judge_scaler(function, seed: int) -> str:
    observation = check_scaled_updates.__wrapped__(function, seed)
    return judge_scaled_updates(decode_observation(encode_observation(observation)), seed).code


def update_with_nan_scale(scaler, optimizer) -> None:
    scaled_update(scaler, optimizer)
    scaler.scale = float("nan")


def update_and_decay(scaler, optimizer) -> None:
    scaled_update(scaler, optimizer)
    for parameter in optimizer.param_groups[0]["params"]:
        parameter.data *= 0.99


def update_with_signs(scaler, optimizer) -> None:
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            if parameter.grad is not None:
                parameter.grad.copy_(torch.where(parameter.grad.isfinite(), parameter.grad.sign(), parameter.grad))
    scaled_update(scaler, optimizer)


@pytest.mark.parametrize("seed", SEEDS)
def test_scalers_outside_the_bank_are_named(seed: int) -> None:
    assert judge_scaler(scaled_update, seed) == "passed"
    assert judge_scaler(update_with_nan_scale, seed) == "unrecognised"
    assert judge_scaler(update_and_decay, seed) == "weights_changed"
    assert judge_scaler(update_with_signs, seed) == "unrecognised"


def test_a_step_without_a_recorded_gradient_never_passes() -> None:
    observation = check_scaled_updates.__wrapped__(scaled_update, 0)
    tensors = {name: value for name, value in observation.tensors.items() if name != "0.gradient.0"}
    assert not judge_scaled_updates(Observation(observation.facts, tensors), 0).is_passed


@pytest.mark.parametrize("seed", (0, 1, 2, 20_011))
def test_every_setting_has_good_and_skipped_updates_and_the_first_is_the_known_one(seed: int) -> None:
    steps = [observe_scaler(scaled_update, case)[0]["optimizer_steps"] for case in scaler_cases(seed)]
    assert [update for update, count in enumerate(steps[0]) if not count] == [2, 9]
    assert all(0 < sum(history) < len(history) for history in steps)

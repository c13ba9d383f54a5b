from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from grader.judging.__main__ import MAY_BE_NON_FINITE
from grader.judging.lessons.mixed_precision.groups import TABLE, judge_clipped_updates, train_group
from grader.lessons.mixed_precision.checks import check_clipped_updates
from grader.lessons.mixed_precision.groups import group_cases
from grader.observation import Observation, decode_observation, encode_observation
from grader.observing.recording import flat_gradient
from grader.verdict import CheckFailed, Verdict

SEEDS = (0, 20_011)


def judge_groups(function, seed: int) -> Verdict:
    observation = check_clipped_updates.__wrapped__(function, seed)
    return judge_clipped_updates(decode_observation(encode_observation(observation)), seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_reference_has_the_clipped_float32_gradient(seed: int) -> None:
    for case, right in zip(group_cases(seed), TABLE.truths(seed), strict=True):
        if 0 in case.overflowing:
            continue
        model, group = case.make_model(), case.make_group(0)
        torch.stack([F.mse_loss(model(inputs), targets) for inputs, targets in group]).mean().backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), case.max_norm)
        assert right["norms"][0] == pytest.approx(float(norm), rel=0.02)
        torch.testing.assert_close(right["gradients"][0][0], flat_gradient(model), rtol=0.05, atol=1e-3)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_reference_updates_every_group_except_those_that_overflow(seed: int) -> None:
    for case, right in zip(group_cases(seed), TABLE.truths(seed), strict=True):
        skipped = [number for number, gradients in enumerate(right["gradients"]) if not gradients]
        assert tuple(skipped) == case.overflowing


def decay_at_the_end(model, loss_function, optimizer, scaler, micro_batches, max_norm):
    norm = train_group(model, loss_function, optimizer, scaler, micro_batches, max_norm)
    for parameter in model.parameters():
        parameter.data *= 0.99
    return norm


def change_at_first(model, *arguments):
    for parameter in model.parameters():
        parameter.data *= 1.01
    return train_group(model, *arguments)


def return_another_norm(*arguments):
    return 1.3 * train_group(*arguments)


def hide_overflow(*arguments):
    norm = train_group(*arguments)
    return norm if norm < float("inf") else 0.0


def repair_and_step(model, loss_function, optimizer, scaler, micro_batches, max_norm):
    norm = train_group(model, loss_function, optimizer, scaler, micro_batches, max_norm)
    if not norm < float("inf"):
        for parameter in model.parameters():
            parameter.grad.nan_to_num_(0.0, 0.0, 0.0)
        optimizer.step()
    return norm


def set_the_scale(model, loss_function, optimizer, scaler, micro_batches, max_norm):
    norm = train_group(model, loss_function, optimizer, scaler, micro_batches, max_norm)
    scaler.update(1024.0)
    return norm


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("function", "code"),
    [
        (train_group, "passed"),
        (decay_at_the_end, "weights_changed"),
        (change_at_first, "weights_changed_at_first"),
        (return_another_norm, "other_norm_returned"),
        (hide_overflow, "overflow_hidden"),
        (repair_and_step, "stepped_on_infinity"),
        (set_the_scale, "other_scale"),
    ],
)
def test_updates_outside_the_bank_are_named(function, code: str, seed: int) -> None:
    assert judge_groups(function, seed).code == code


@pytest.mark.parametrize(
    ("order", "code"),
    [
        (("unscale_", "step", "step"), "scale_not_updated"),
        (("unscale_", "unscale_"), "unscaled_twice"),
        (("step", "unscale_"), "unscaled_after_step"),
        (("update",), "updated_without_step"),
        (("step",), "scale_not_updated"),
        (("unscale_",), "scale_not_updated"),
    ],
)
def test_an_order_that_the_scaler_refuses_is_explained(order: tuple[str, ...], code: str) -> None:
    def call_in_order(model, loss_function, optimizer, scaler, micro_batches, max_norm):
        inputs, targets = micro_batches[0]
        scaler.scale(loss_function(model(inputs), targets)).backward()
        for call in order:
            getattr(scaler, call)(*([] if call == "update" else [optimizer]))
        return 1.0

    with pytest.raises(CheckFailed) as failure:
        check_clipped_updates.__wrapped__(call_in_order, 0)
    assert failure.value.code == code


def test_gradients_and_norms_of_nan_never_pass() -> None:
    observation = check_clipped_updates.__wrapped__(train_group, 0)
    gradients = {name: torch.full_like(value, float("nan")) for name, value in observation.tensors.items()}
    weights = {name: value for name, value in observation.tensors.items() if ".weights." in name}
    assert not judge_clipped_updates(Observation(observation.facts, gradients | weights), 0).is_passed
    settings = [facts | {"norms": [float("nan")] * len(facts["norms"])} for facts in observation.facts["settings"]]
    verdict = judge_clipped_updates(Observation({"settings": settings}, observation.tensors), 0)
    assert not verdict.is_passed


def test_norms_of_skipped_updates_reach_the_judge_in_a_class() -> None:
    assert {"check_clipped_updates", "check_scaled_updates"} <= MAY_BE_NON_FINITE


@pytest.mark.parametrize("seed", (0, 1, 2, 20_011))
def test_one_setting_clips_every_update_and_the_other_none(seed: int) -> None:
    clipped, free = group_cases(seed)
    assert (clipped.overflowing, clipped.growth_interval) == ((2, 9), 4)
    assert clipped.max_norm < 1 < free.max_norm
    assert len(set(free.group_sizes)) > 1
    assert all(update < len(free.group_sizes) for update in free.overflowing)

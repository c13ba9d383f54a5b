"""fp16 updates from groups, with one thing changed at a time, on two cases each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from grader.judging.__main__ import MAY_BE_NON_FINITE
from grader.judging.lessons.mixed_precision.groups import judge_clipped_updates
from grader.lessons.mixed_precision.checks import check_clipped_updates
from grader.lessons.mixed_precision.groups import group_cases
from grader.observation import Observation, decode_observation, encode_observation
from grader.verdict import CheckFailed, Verdict

SEEDS = (0, 20_011)

Change = Callable[..., Any]


def make_train_group(
    *,
    autocast_dtype: torch.dtype | None = torch.float16,
    divide: Callable[[int], float] = lambda size: size,
    clip: Change | None = None,
    clips_first: bool = False,
    steps: Change | None = None,
    is_cleared: bool = True,
    is_backward_inside: bool = False,
    before: Change | None = None,
    norm_of: Callable[[float, float], float] = lambda norm, max_norm: norm,
) -> Change:
    """The right update, except for what is given."""

    def clip_norm(model: nn.Module, max_norm: float) -> float:
        return float((clip or nn.utils.clip_grad_norm_)(model.parameters(), max_norm))

    def train_group(model, loss_function, optimizer, scaler, micro_batches, max_norm):
        if before is not None:
            before(model)
        if is_cleared:
            optimizer.zero_grad()
        for inputs, targets in micro_batches:
            with torch.autocast(inputs.device.type, autocast_dtype, enabled=autocast_dtype is not None):
                loss = loss_function(model(inputs), targets) / divide(len(micro_batches))
                if is_backward_inside:
                    scaler.scale(loss).backward()
            if not is_backward_inside:
                scaler.scale(loss).backward()
        norm = clip_norm(model, max_norm) if clips_first else 0.0
        scaler.unscale_(optimizer)
        norm = norm if clips_first else clip_norm(model, max_norm)
        (steps or scaler.step)(optimizer)
        scaler.update()
        return norm_of(norm, max_norm)

    return train_group


def judge_groups(train_group: Change, seed: int) -> Verdict:
    observation: Observation = check_clipped_updates.__wrapped__(train_group, seed)
    return judge_clipped_updates(decode_observation(encode_observation(observation)), seed)


def total_norm(parameters: Any, max_norm: float) -> torch.Tensor:
    return nn.utils.get_total_norm([parameter.grad for parameter in parameters])


def clip_by_value(parameters: Any, max_norm: float) -> torch.Tensor:
    kept = list(parameters)
    norm = total_norm(kept, max_norm)
    nn.utils.clip_grad_value_(kept, max_norm / 10)
    return norm


def replace_and_step(optimizer: torch.optim.Optimizer) -> None:
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            parameter.grad.nan_to_num_(0.0, 0.0, 0.0).add_(1e-3)
    optimizer.step()


def step_and_decay(optimizer: torch.optim.Optimizer) -> None:
    optimizer.step()
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            parameter.data.mul_(0.99)


CHANGES: dict[str, dict[str, Any]] = {
    "passed": {},
    "plain_update_but_scaled": {"autocast_dtype": None},
    "another_format": {"autocast_dtype": torch.bfloat16},
    "autocast_around_backward": {"is_backward_inside": True},
    "gradient_not_averaged": {"divide": lambda size: 1},
    "averaged_twice": {"divide": lambda size: size**2},
    "clipped_before_unscaling": {"clips_first": True},
    "not_clipped": {"clip": total_norm},
    "clipped_by_value": {"clip": clip_by_value},
    "clipped_to_another_norm": {"clip": lambda parameters, max_norm: nn.utils.clip_grad_norm_(parameters, 1.0)},
    "gradient_scaled": {"clip": lambda parameters, max_norm: nn.utils.clip_grad_norm_(parameters, max_norm / 7)},
    "not_skipped": {"steps": lambda optimizer: optimizer.step()},
    "infinity_kept": {"is_cleared": False},
    "eval_mode": {"before": lambda model: model.eval()},
    "weights_changed_at_first": {"before": lambda model: [p.data.mul_(1.01) for p in model.parameters()]},
    "weights_changed": {"steps": step_and_decay},
    "clipped_norm_returned": {"norm_of": lambda norm, max_norm: min(norm, max_norm) if norm == norm else norm},
    "squared_norm_returned": {"norm_of": lambda norm, max_norm: norm**2},
    "other_norm_returned": {"norm_of": lambda norm, max_norm: 1.3 * norm},
    "overflow_hidden": {"norm_of": lambda norm, max_norm: norm if norm == norm else 0.0},
    "norm_not_finite": {"norm_of": lambda norm, max_norm: float("nan")},
}
CODES = {"plain_update_but_scaled": "forward_without_autocast"}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", CHANGES)
def test_every_changed_update_is_named(name: str, seed: int) -> None:
    told = judge_groups(make_train_group(**CHANGES[name]), seed).code
    if name == "infinity_kept" and told == "gradient_not_cleared":
        return  # seen before the first overflow where no update is clipped
    assert told == CODES.get(name, name)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_step_with_a_replaced_gradient_is_no_skip(seed: int) -> None:
    def train_group(model, loss_function, optimizer, scaler, micro_batches, max_norm):
        optimizer.zero_grad()
        for inputs, targets in micro_batches:
            with torch.autocast("cpu", torch.float16):
                loss = loss_function(model(inputs), targets) / len(micro_batches)
            scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        norm = total_norm(model.parameters(), max_norm)
        if norm.isfinite():
            nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            scaler.step(optimizer)
        else:
            replace_and_step(optimizer)
        scaler.update()
        return norm.item()

    assert judge_groups(train_group, seed).code == "stepped_on_replaced_gradient"


@pytest.mark.parametrize(
    ("order", "code"),
    [
        (("unscale_", "step", "step"), "scale_not_updated"),
        (("unscale_", "unscale_"), "unscaled_twice"),
        (("step", "unscale_"), "unscaled_after_step"),
        (("update",), "updated_without_step"),
        (("step",), "scale_not_updated"),
    ],
)
def test_an_order_that_the_scaler_refuses_is_explained(order: tuple[str, ...], code: str) -> None:
    def train_group(model, loss_function, optimizer, scaler, micro_batches, max_norm):
        optimizer.zero_grad()
        for inputs, targets in micro_batches:
            with torch.autocast("cpu", torch.float16):
                loss = loss_function(model(inputs), targets) / len(micro_batches)
            scaler.scale(loss).backward()
        for call in order:
            getattr(scaler, call)(*([] if call == "update" else [optimizer]))
        return 1.0

    with pytest.raises(CheckFailed) as failure:
        check_clipped_updates.__wrapped__(train_group, 0)
    assert failure.value.code == code


def test_half_precision_weights_are_explained() -> None:
    with pytest.raises(CheckFailed) as failure:
        check_clipped_updates.__wrapped__(make_train_group(before=lambda model: model.half()), 0)
    assert failure.value.code == "weights_in_16_bit"


def test_a_message_names_the_update_and_both_norms() -> None:
    case, verdict = group_cases(0)[0], judge_groups(make_train_group(clips_first=True), 0)
    assert "group 0" in verdict.expected
    assert f"norm of {case.max_norm:.4g}" in verdict.expected
    assert f"norm {case.max_norm / case.start_scale:.4g}" in verdict.measured  # clipped to max_norm, then unscaled


def test_other_weights_are_named() -> None:
    observation = check_clipped_updates.__wrapped__(make_train_group(), 0)
    tensors = dict(observation.tensors) | {"0.weights.0": torch.zeros_like(observation.tensors["0.weights.0"])}
    assert judge_clipped_updates(Observation(observation.facts, tensors), 0).code == "weights_changed_at_first"


def test_gradients_of_nan_never_pass() -> None:
    observation = check_clipped_updates.__wrapped__(make_train_group(), 0)
    nothing = {name: torch.full_like(value, float("nan")) for name, value in observation.tensors.items()}
    kept = {name: value for name, value in observation.tensors.items() if ".weights." in name}
    assert judge_clipped_updates(Observation(observation.facts, nothing | kept), 0).code == "gradient_not_finite"


def test_norms_of_skipped_updates_reach_the_judge_in_a_class() -> None:
    assert {"check_clipped_updates", "check_scaled_updates"} <= MAY_BE_NON_FINITE


@pytest.mark.parametrize("seed", (0, 1, 2, 20_011))
def test_one_setting_clips_every_update_and_the_other_none(seed: int) -> None:
    clipped, free = group_cases(seed)
    assert (clipped.overflowing, clipped.growth_interval) == ((2, 9), 4)
    assert clipped.max_norm < 1 < free.max_norm
    assert len(set(free.group_sizes)) > 1
    assert all(update < len(free.group_sizes) for update in free.overflowing)

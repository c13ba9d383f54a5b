from __future__ import annotations

import functools
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from grader.judging.lessons.mixed_precision import scale
from grader.judging.lessons.mixed_precision.scale import judge_predicted_scale
from grader.judging.lessons.mixed_precision.scale_rules import WRONG_RULES, Rule, fold, follow, right_rule
from grader.judging.lessons.mixed_precision.scaled_updates import judge_scaled_updates
from grader.judging.lessons.mixed_precision.scaler_reference import reference_steps
from grader.lessons.mixed_precision.scales import ScalerCase, scale_cases, scale_histories, scaler_cases
from grader.observation import Observation, decode_observation, encode_observation

SEEDS = (0, 20_011)


def judge_scales(predicted: list[float], seed: int) -> str:
    return judge_predicted_scale(Observation({"predicted_scales": predicted}), seed).code


# The rule itself


@pytest.mark.parametrize("seed", (0, 1, 2, 20_011))
def test_the_rule_is_that_of_torch(seed: int) -> None:
    for case in scale_histories(seed):
        library = torch.amp.GradScaler("cpu", init_scale=case.start_scale, growth_interval=case.growth_interval)
        weight = torch.nn.Parameter(torch.zeros(1))
        optimizer = torch.optim.SGD([weight], lr=0.0)
        library.scale(torch.ones(1))
        for update, is_inf in enumerate(case.found_inf):
            weight.grad = torch.full((1,), float("inf") if is_inf else 1.0)
            library.step(optimizer)
            library.update()
            history = case.found_inf[: update + 1]
            assert library.get_scale() == fold(right_rule, case.start_scale, case.growth_interval, history)


def test_a_count_that_is_not_reset_gives_65536_for_32768_after_step_4() -> None:
    history = [update in (2, 9) for update in range(5)]
    wrong = next(wrong.rule for wrong in WRONG_RULES if wrong.code == "count_not_reset")
    assert fold(right_rule, 65_536.0, 4, history) == 32_768
    assert fold(wrong, 65_536.0, 4, history) == 65_536


# The predicted scale


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("mistake", scale.MISTAKES, ids=lambda mistake: mistake.code)
def test_every_misconception_of_the_scale_is_named(mistake, seed: int) -> None:
    assert judge_scales([mistake.yields(case) for case in scale_cases(seed)], seed) == mistake.code


@pytest.mark.parametrize("seed", SEEDS)
def test_the_right_scales_pass(seed: int) -> None:
    assert judge_scales([scale.right_scale(case) for case in scale_cases(seed)], seed) == "passed"


def test_scales_of_the_visible_case_are_named_on_another() -> None:
    visible = [scale.right_scale(case) for case in scale_cases(0)]
    length = len(scale_cases(20_011))
    assert judge_scales((visible * 2)[:length], 20_011) == "visible_case_hard_coded"


def test_one_number_for_every_history_is_named() -> None:
    assert judge_scales([32_768.0] * len(scale_cases(0)), 0) == "one_number_for_all"


def test_unexplained_scales_are_not_given_a_name() -> None:
    assert judge_scales([3.0 + number for number in range(len(scale_cases(0)))], 0) == "unrecognised"


def test_a_nan_never_passes() -> None:
    assert judge_scales([float("nan")] * len(scale_cases(0)), 0) != "passed"


# The learner's scaler, run here by hand

Divide = Callable[[Tensor, float], Tensor]


def run_scaler(
    case: ScalerCase,
    rule: Rule = right_rule,
    divide: Divide = torch.div,
    is_skipped: Callable[[int, list[Tensor]], bool] | None = None,
    replace: Callable[[Tensor], Tensor] | None = None,
) -> tuple[dict[str, list[float]], dict[str, Tensor]]:
    """Live through a history with another rule, another division, another skip, or another gradient."""
    weights = case.make_weights()
    optimizer = case.make_optimizer(weights)
    scale_now, good, scales, steps = case.start_scale, 0, [], []
    tensors: dict[str, Tensor] = {}
    for update in range(case.updates):
        scaled = case.scaled_gradients(update, scale_now)
        is_inf = not all(bool(torch.isfinite(gradient).all()) for gradient in scaled)
        skip = is_inf if is_skipped is None else is_skipped(update, scaled)
        if not skip:
            for weight, gradient in zip(weights, scaled, strict=False):
                weight.grad = divide(gradient if replace is None else replace(gradient), scale_now)
            tensors[f"gradient.{update}"] = torch.cat([weight.grad.flatten() for weight in weights[:3]])
            optimizer.step()
        steps.append(int(not skip))
        scale_now, good = rule(scale_now, good, is_inf, case.growth_interval)
        scales.append(scale_now)
        tensors[f"weights.{update}"] = torch.cat([weight.detach().flatten() for weight in weights]).clone()
    return {"scales": scales, "optimizer_steps": steps}, tensors


def judge_scaler(seed: int, **changes) -> str:
    settings, tensors = [], {}
    for index, case in enumerate(scaler_cases(seed)):
        facts, seen = run_scaler(case, **changes)
        settings.append(facts)
        tensors |= {f"{index}.{name}": tensor for name, tensor in seen.items()}
    written = decode_observation(encode_observation(Observation({"settings": settings}, tensors)))
    return judge_scaled_updates(written, seed).code


def no_skip(update: int, scaled: list[Tensor]) -> bool:
    return False


WRONG_SCALERS: dict[str, dict[str, object]] = {
    "not_unscaled": {"divide": lambda gradient, scale: gradient},
    "unscaled_twice": {"divide": lambda gradient, scale: gradient / scale**2},
    "scaled_again": {"divide": torch.mul},
    "fixed_divisor": {"divide": lambda gradient, scale: gradient / 2**16},
    "gradient_scaled": {"divide": lambda gradient, scale: gradient / 1000},
    "gradient_cleared": {"divide": lambda gradient, scale: torch.zeros_like(gradient)},
    "other_gradient": {"divide": lambda gradient, scale: gradient.sign() / scale},
    "not_skipped": {"is_skipped": no_skip},
    "stepped_on_replaced_gradient": {
        "is_skipped": no_skip,
        "replace": lambda gradient: gradient.nan_to_num(0.0, 0.0, 0.0),
    },
    "never_stepped": {"is_skipped": lambda update, scaled: True},
    "skipped_without_infinity": {"is_skipped": lambda update, scaled: update % 2 == 0},
    "infinity_missed": {"is_skipped": lambda update, scaled: not bool(scaled[0].isfinite().all())},
}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("code", WRONG_SCALERS)
def test_every_wrong_scaler_is_named(code: str, seed: int) -> None:
    assert judge_scaler(seed, **WRONG_SCALERS[code]) == code


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("wrong", WRONG_RULES, ids=lambda wrong: wrong.code)
def test_every_wrong_rule_is_named(wrong, seed: int) -> None:
    assert judge_scaler(seed, rule=wrong.rule) in {wrong.code, *same_scales(wrong.rule, seed)}


def same_scales(rule: Rule, seed: int) -> set[str]:
    """The rules whose scales are those of `rule` in the first setting where it goes wrong."""
    for case in scaler_cases(seed):
        seen = follow(rule, case.start_scale, case.growth_interval, case.updates, case.is_overflow)
        if seen != [step.scale_after for step in reference_steps(case)]:
            return {
                wrong.code
                for wrong in WRONG_RULES
                if follow(wrong.rule, case.start_scale, case.growth_interval, case.updates, case.is_overflow) == seen
            }
    return set()


def test_the_signatures_of_the_first_setting_are_told_apart() -> None:
    case = scaler_cases(0)[0]
    codes = ("never_falls", "count_not_reset", "never_recovers", "infinity_counted", "falls_too_far")
    rules = {wrong.code: wrong.rule for wrong in WRONG_RULES}
    followed = [
        tuple(follow(rules[code], case.start_scale, case.growth_interval, case.updates, case.is_overflow))
        for code in codes
    ]
    assert len(set(followed)) == len(codes)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_scaler_of_torch_passes(seed: int) -> None:
    assert judge_scaler(seed) == "passed"


@pytest.mark.parametrize("seed", SEEDS)
def test_a_scale_of_nan_never_passes(seed: int) -> None:
    def to_nan(scale: float, good: int, is_inf: bool, interval: int) -> tuple[float, int]:
        return float("nan"), 0

    assert judge_scaler(seed, rule=to_nan) != "passed"


@functools.cache
def histories(seed: int) -> list[list[bool]]:
    return [[step.is_skipped for step in reference_steps(case)] for case in scaler_cases(seed)]


@pytest.mark.parametrize("seed", (0, 1, 2, 20_011))
def test_every_setting_has_good_and_skipped_updates_and_the_first_is_the_known_one(seed: int) -> None:
    assert [update for update, is_skipped in enumerate(histories(seed)[0]) if is_skipped] == [2, 9]
    assert all(0 < sum(history) < len(history) for history in histories(seed))

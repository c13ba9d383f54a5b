from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch

from grader.judging.lessons.adamw.adam import judge_adam_updates, judge_adamw_steps
from grader.judging.lessons.adamw.deviations import MOMENTS
from grader.judging.lessons.adamw.group_deviations import DECAY
from grader.judging.lessons.adamw.recipes import RIGHT, Recipe, simulate
from grader.judging.lessons.adamw.trajectories import steps_of_torch
from grader.lessons.adamw.updates import adam_cases, adamw_cases
from grader.observation import Observation
from grader.testbed.optimizer_steps import STEPS, UpdateCase

SEEDS = (0, 20011)


def observe(cases: Sequence[UpdateCase], recipe: Recipe, **facts: object) -> Observation:
    """What a check would see of an optimizer that takes the steps of a recipe."""
    settings, tensors = [], {}
    for number, case in enumerate(cases):
        elements = []
        for index, shape in enumerate(case.shapes):
            rows = [weight.flatten().float().clone() for weight in simulate(case, index, recipe)]
            tensors[f"{number}.{index}"] = torch.stack(rows)
            elements.append(2 * torch.Size(shape).numel() if case.first_steps.get(index, 1) <= STEPS else 0)
        clean = {"changed_options": [], "is_gradient_gone": False, "is_frozen": False}
        clean |= {"state_bytes": [4 * number for number in elements], "state_entries": [3 * bool(n) for n in elements]}
        settings.append(clean | {"state_elements": elements, "is_gradient_changed": [False] * len(elements)} | facts)
    return Observation({"settings": settings}, tensors)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_right_recipe_takes_the_steps_of_torch(seed: int) -> None:
    for case in (*adam_cases(seed), *adamw_cases(seed)):
        for index, wanted in enumerate(steps_of_torch(case)):
            taken = torch.stack([weight.flatten() for weight in simulate(case, index, RIGHT)])
            assert torch.allclose(taken.float(), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_right_steps_pass(seed: int) -> None:
    assert judge_adam_updates(observe(adam_cases(seed), RIGHT), seed).is_passed
    assert judge_adamw_steps(observe(adamw_cases(seed), RIGHT), seed).is_passed


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("deviation", MOMENTS, ids=lambda deviation: deviation.code)
def test_every_misconception_of_adam_is_named(deviation, seed: int) -> None:
    observation = observe(adam_cases(seed), deviation.applied(RIGHT))
    assert judge_adam_updates(observation, seed).code == deviation.code


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("deviation", (*MOMENTS[:5], *DECAY), ids=lambda deviation: deviation.code)
def test_every_misconception_of_adamw_is_named(deviation, seed: int) -> None:
    observation = observe(adamw_cases(seed), deviation.applied(RIGHT))
    assert judge_adamw_steps(observation, seed).code == deviation.code


@pytest.mark.parametrize(
    ("code", "length"),
    [("bias_not_corrected", "3.16"), ("second_moment_not_corrected", "31.6"), ("first_moment_not_corrected", "0.1")],
)
def test_the_length_of_the_first_step_tells_the_correction(code: str, length: str) -> None:
    # Exact: the corrections of step 1 divide by 1 - 0.9 = 0.1 and by the root of 1 - 0.999, which is 0.0316.
    deviation = next(deviation for deviation in MOMENTS if deviation.code == code)
    verdict = judge_adam_updates(observe(adam_cases(0), deviation.applied(RIGHT)), 0)
    assert verdict.expected.startswith("after step 1,")
    assert f"a movement {length} times as long" in verdict.measured


@pytest.mark.parametrize("factor", [4.0, 0.25])
def test_a_gradient_times_a_constant_is_seen(factor: float) -> None:
    for cases, judge in ((adam_cases(1), judge_adam_updates), (adamw_cases(1), judge_adamw_steps)):
        assert judge(observe(cases, Recipe(gradient=factor)), 1).code == "gradient_scaled"


def test_a_gradient_that_makes_epsilon_vanish_is_told_as_another_epsilon() -> None:
    assert judge_adamw_steps(observe(adamw_cases(1), Recipe(gradient=65_536.0)), 1).code == "eps_not_read"


def test_two_mistakes_are_named_by_the_first() -> None:
    recipe = Recipe(first_correction="none", second_correction="none", decay="none")
    assert judge_adamw_steps(observe(adamw_cases(0), recipe), 0).code == "bias_not_corrected"


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_steps_that_are_not_finite_fail(value: float) -> None:
    observation = observe(adam_cases(0), RIGHT)
    observation.tensors["2.1"][-1] = value
    assert not judge_adam_updates(observation, 0).is_passed


def test_state_is_judged_by_its_size() -> None:
    cases = adam_cases(0)
    for elements, code in ((0, "moments_kept_elsewhere"), (10_000, "state_too_large")):
        facts = {"state_elements": [elements] * 2}
        assert judge_adam_updates(observe(cases, RIGHT, **facts), 0).code == code
    observation = observe(adamw_cases(0), RIGHT)
    observation.facts["settings"][2]["state_entries"][2] = 1
    assert judge_adamw_steps(observation, 0).code == "count_without_gradient"
    observation.facts["settings"][2]["state_elements"][2] = 12
    assert judge_adamw_steps(observation, 0).code == "state_without_gradient"


def test_moments_have_the_format_of_their_parameter() -> None:
    for factor in (4, 16):
        observation = observe(adam_cases(0), RIGHT)
        facts = observation.facts["settings"][0]
        facts["state_bytes"] = [factor * number // 2 for number in facts["state_elements"]]
        assert judge_adam_updates(observation, 0).code == "moments_in_another_format"


@pytest.mark.parametrize(
    ("facts", "code"),
    [
        ({"changed_options": ["lr"]}, "options_changed"),
        ({"is_gradient_gone": True}, "gradient_dropped"),
        ({"is_frozen": True}, "parameter_frozen"),
    ],
)
def test_a_step_changes_nothing_else(facts: dict[str, object], code: str) -> None:
    assert judge_adamw_steps(observe(adamw_cases(0), RIGHT, **facts), 0).code == code


def test_an_unknown_miss_names_its_step() -> None:
    observation = observe(adam_cases(0), RIGHT)
    observation.tensors["0.0"][6:] += 0.1
    verdict = judge_adam_updates(observation, 0)
    assert verdict.code == "unrecognised" and "step 7" in verdict.look_at


def test_a_changed_gradient_is_told_before_the_weights() -> None:
    facts = {"is_gradient_changed": [False, True]}
    recipe = Recipe(decay="in_gradient")
    assert judge_adam_updates(observe(adam_cases(0), recipe, **facts), 0).code == "gradient_changed"


def test_tensors_of_another_shape_are_malformed() -> None:
    observation = observe(adam_cases(0), RIGHT)
    observation.tensors["0.0"] = torch.zeros(3, 2)  # type: ignore[index]
    with pytest.raises((RuntimeError, ValueError, IndexError)):
        judge_adam_updates(observation, 0)

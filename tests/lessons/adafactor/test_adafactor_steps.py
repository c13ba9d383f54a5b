from __future__ import annotations

from functools import cache
from typing import Any

import pytest
import torch

from grader.judging.lessons.adafactor.deviations import ESTIMATES
from grader.judging.lessons.adafactor.recipes import RIGHT, Recipe
from grader.judging.lessons.adafactor.second_moments import Estimate
from grader.judging.lessons.adafactor.step_deviations import SECOND_EPSILONS, STEP
from grader.judging.lessons.adafactor.steps import Drawn, simulate
from grader.judging.lessons.adafactor.updates import judge_adafactor_steps
from grader.lessons.adafactor.updates import STEPS, AdafactorCase, adafactor_cases
from grader.observation import Observation

SEEDS = (0, 20011)
# With the weights of the rows exchanged, all is NaN, as with both exchanged. Every second moment by itself is judged in
# test_adafactor_moments.py: a share of them is enough here.
OF_ESTIMATE = [deviation for deviation in ESTIMATES[::3] if deviation.code != "row_weights_swapped"]
KNOWN = (*STEP, *SECOND_EPSILONS, *OF_ESTIMATE)
NAMED = [(deviation, 20011) for deviation in KNOWN] + [(deviation, 0) for deviation in KNOWN[::8]]


@cache
def drawn_cases(seed: int) -> list[Drawn]:
    return [Drawn(case) for case in adafactor_cases(seed)]


def observe(seed: int, recipe: Recipe, **facts: object) -> Observation:
    """What a check would see of an optimizer that takes the steps of a recipe."""
    settings, tensors = [], {}
    for number, drawn in enumerate(drawn_cases(seed)):
        case = drawn.case
        for index in range(len(case.shapes)):
            rows = [weight.flatten().float().clone() for weight in simulate(drawn, index, recipe)]
            tensors[f"{number}.{index}"] = torch.stack(rows)
        settings.append({"state_elements": kept(case), "is_gradient_changed": [False] * len(case.shapes)} | facts)
    return Observation({"settings": settings}, tensors)


def kept(case: AdafactorCase) -> list[int]:
    """How many numbers of second moment each tensor has."""
    numbers = []
    for index, shape in enumerate(case.shapes):
        factored = torch.Size(shape[:-2]).numel() * sum(shape[-2:]) if len(shape) > 1 else torch.Size(shape).numel()
        numbers.append(factored if case.first_steps.get(index, 1) <= STEPS else 0)
    return numbers


def own_options(case: AdafactorCase, group: int, step: int) -> dict[str, Any]:
    """The options of a group, as transformers takes them."""
    options = case.options(group, step)
    return options | {"eps": (options["eps"], 1e-3)}


def steps_of_transformers(case: AdafactorCase) -> list[torch.Tensor]:
    """Take the steps of a case with the Adafactor of transformers."""
    from transformers.optimization import Adafactor

    parameters = [torch.nn.Parameter(weight) for weight in case.make_weights()]
    groups = []
    for group in range(len(case.decays)):
        groups.append({"params": [parameters[index] for index in case.members(group)], **own_options(case, group, 1)})
    optimizer = Adafactor(groups, lr=1e-3, relative_step=False)
    rows: list[list[torch.Tensor]] = [[] for _ in parameters]
    for step in range(1, STEPS + 1):
        for number, group in enumerate(optimizer.param_groups):
            group.update(own_options(case, number, step))
        for parameter, gradient in zip(parameters, case.gradients(step), strict=True):
            parameter.grad = gradient
        optimizer.step()
        for row, parameter in zip(rows, parameters, strict=True):
            row.append(parameter.detach().flatten().clone())
    return [torch.stack(row) for row in rows]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_right_recipe_takes_the_steps_of_transformers(seed: int) -> None:
    for case in adafactor_cases(seed):
        drawn = Drawn(case)
        for index, wanted in enumerate(steps_of_transformers(case)):
            taken = torch.stack([weight.flatten() for weight in simulate(drawn, index, RIGHT)])
            assert torch.allclose(taken.float(), wanted, rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_right_steps_pass(seed: int) -> None:
    assert judge_adafactor_steps(observe(seed, RIGHT), seed).is_passed


@pytest.mark.parametrize(("deviation", "seed"), NAMED, ids=[f"{known.code}-{seed}" for known, seed in NAMED])
def test_every_misconception_is_named(deviation, seed: int) -> None:
    assert judge_adafactor_steps(observe(seed, deviation.step(RIGHT)), seed).code == deviation.code


@pytest.mark.parametrize("factor", [4.0, 0.25, 10.0])
def test_a_gradient_times_a_constant_is_seen(factor: float) -> None:
    recipe = Recipe(estimate=Estimate(gradient=factor))
    assert judge_adafactor_steps(observe(1, recipe), 1).code == "gradient_scaled"


def test_a_learning_rate_times_a_constant_is_seen() -> None:
    verdict = judge_adafactor_steps(observe(1, Recipe(rate=0.5)), 1)
    assert (verdict.code, "0.5" in verdict.look_at) == ("learning_rate_scaled", True)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_steps_that_are_not_finite_fail(value: float) -> None:
    observation = observe(0, RIGHT)
    observation.tensors["0.0"][0] = value
    assert not judge_adafactor_steps(observation, 0).is_passed


def test_state_is_judged_by_its_size() -> None:
    cases = adafactor_cases(0)
    for number, index, elements, code in (
        (0, 0, 1, "means_kept_elsewhere"),
        (0, 0, 32, "state_too_large"),
        (1, 2, 2 * torch.Size(cases[1].shapes[2]).numel(), "state_too_large"),
        (2, 4, 3, "state_without_gradient"),
    ):
        observation = observe(0, RIGHT)
        observation.facts["settings"][number]["state_elements"][index] = elements
        assert judge_adafactor_steps(observation, 0).code == code


def test_a_changed_gradient_is_told_before_the_weights() -> None:
    observation = observe(0, Recipe(decay="in_gradient"))
    observation.facts["settings"][0]["is_gradient_changed"][1] = True
    assert judge_adafactor_steps(observation, 0).code == "gradient_changed"


def test_tensors_of_another_shape_are_malformed() -> None:
    observation = observe(0, RIGHT)
    observation.tensors["0.0"] = torch.zeros(3, 2)  # type: ignore[index]
    with pytest.raises((RuntimeError, ValueError, IndexError)):
        judge_adafactor_steps(observation, 0)


@pytest.mark.parametrize("name", ["lr", "weight_decay", "eps", "decay_rate", "clip_threshold", "scale_parameter"])
def test_each_option_is_judged_for_every_group_and_at_every_step(name: str) -> None:
    for place in ("first", "last", "start"):
        verdict = judge_adafactor_steps(observe(2, Recipe(read=((name, place),))), 2)
        assert verdict.look_at.startswith(name)


def test_a_rate_that_leaks_from_tensor_to_tensor_is_named() -> None:
    observation = observe(0, RIGHT)
    case = adafactor_cases(0)[1]
    start, scale = case.make_weights()[1].flatten(), float(case.make_weights()[0].square().mean().sqrt())
    observation.tensors["1.1"][:] = start + scale * (observation.tensors["1.1"] - start)  # type: ignore[index]
    assert judge_adafactor_steps(observation, 0).code == "scale_carried_over"


def test_what_no_misconception_explains_says_from_which_step_on() -> None:
    observation = observe(0, RIGHT)
    observation.tensors["0.0"][6:] += 0.01
    verdict = judge_adafactor_steps(observation, 0)
    assert (verdict.code, "the steps before 7 are right" in verdict.look_at) == ("unrecognised", True)

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from grader.judging.lessons.adafactor.steps import TABLE, Path, adafactor_step, draw, judge_adafactor_steps
from grader.lessons.adafactor.updates import STEPS, AdafactorCase, adafactor_cases
from grader.observation import Observation

SEEDS = (0, 20011)
# Every misconception is proved in tests/judging/test_proof.py; a share of them is enough from float32 weights.
SHARE = [misconception.code for misconception in TABLE.misconceptions if misconception.edits][::6]


def path_of(step: Callable, case: AdafactorCase) -> list[torch.Tensor]:
    """The weights after each step, of each tensor, [steps, numbers]."""
    path = Path(step, draw(case))
    return [torch.stack(rows).float() for rows in list(zip(*path, strict=True))]


def observe(seed: int, step: Callable = adafactor_step, **facts: object) -> Observation:
    """What a check would see of an optimizer's step."""
    settings, tensors = [], {}
    for number, case in enumerate(adafactor_cases(seed)):
        for index, rows in enumerate(path_of(step, case)):
            tensors[f"{number}.{index}"] = rows[1:]
        settings.append({"state_elements": kept(case), "is_gradient_changed": [False] * len(case.shapes)} | facts)
    return Observation({"settings": settings}, tensors)


def version(code: str) -> Callable:
    return TABLE.versions[code][0].part()


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
def test_the_reference_takes_the_steps_of_transformers(seed: int) -> None:
    for case in adafactor_cases(seed):
        for rows, wanted in zip(path_of(adafactor_step, case), steps_of_transformers(case), strict=True):
            assert torch.allclose(rows[1:], wanted, rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_right_steps_pass(seed: int) -> None:
    assert judge_adafactor_steps(observe(seed), seed).is_passed


@pytest.mark.parametrize("code", SHARE)
def test_misconceptions_are_named_from_float32(code: str) -> None:
    assert judge_adafactor_steps(observe(20011, version(code)), 20011).code == code


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_steps_that_are_not_finite_fail(value: float) -> None:
    observation = observe(0)
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
        observation = observe(0)
        observation.facts["settings"][number]["state_elements"][index] = elements
        assert judge_adafactor_steps(observation, 0).code == code


def test_a_changed_gradient_is_reported_before_the_weights() -> None:
    observation = observe(0, version("decay_in_gradient"))
    observation.facts["settings"][0]["is_gradient_changed"][1] = True
    assert judge_adafactor_steps(observation, 0).code == "gradient_changed"


def test_tensors_of_another_shape_are_malformed() -> None:
    observation = observe(0)
    observation.tensors["0.0"] = torch.zeros(3, 2)  # type: ignore[index]
    with pytest.raises((RuntimeError, ValueError, IndexError)):
        judge_adafactor_steps(observation, 0)


@pytest.mark.parametrize("place", ["options_of_first_group", "options_of_last_group", "options_kept_from_start"])
def test_each_option_is_judged_for_every_group_and_at_every_step(place: str) -> None:
    for edited in TABLE.versions[place]:
        assert judge_adafactor_steps(observe(2, edited.part()), 2).code == place


def test_weights_that_never_move_are_named() -> None:
    assert judge_adafactor_steps(observe(0, lambda optimizer: None), 0).code == "weight_not_changed"


def test_what_no_misconception_explains_says_from_which_step_on() -> None:
    observation = observe(0)
    observation.tensors["0.0"][6:] += 0.01
    verdict = judge_adafactor_steps(observation, 0)
    assert verdict.code == "unrecognised"
    assert "differs first, at step 7. The steps before are right" in verdict.look_at

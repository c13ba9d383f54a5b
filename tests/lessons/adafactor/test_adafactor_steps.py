from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from transformers.optimization import Adafactor

from grader.judging.lessons.adafactor.steps import TABLE, Kept, Path, adafactor_step, draw, judge_adafactor_steps
from grader.lessons.adafactor.updates import STEPS, AdafactorCase, adafactor_cases
from grader.observation import Observation

SEEDS = (0, 20011)


def path_of(step: Callable, case: AdafactorCase) -> list[torch.Tensor]:
    """The weights after each step, of each tensor, [steps, numbers]."""
    path = Path(step, draw(case))
    return [torch.stack(rows).float() for rows in list(zip(*path, strict=True))]


def observe(seed: int, step: Callable = adafactor_step) -> Observation:
    """What a check would see of an optimizer's step."""
    settings, tensors = [], {}
    for number, case in enumerate(adafactor_cases(seed)):
        for index, rows in enumerate(path_of(step, case)):
            tensors[f"{number}.{index}"] = rows[1:]
        settings.append(
            {
                "state_elements": [Kept(case, index, 0).least for index in range(len(case.shapes))],
                "is_gradient_changed": [False] * len(case.shapes),
            }
        )
    return Observation({"settings": settings}, tensors)


def own_options(case: AdafactorCase, group: int, step: int) -> dict[str, Any]:
    """The options of a group, as transformers takes them."""
    options = case.options(group, step)
    return options | {"eps": (options["eps"], 1e-3)}


def steps_of_transformers(case: AdafactorCase) -> list[torch.Tensor]:
    """Take the steps of a case with the Adafactor of transformers."""
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
    observation = observe(0, TABLE.versions["decay_in_gradient"][0].part())
    observation.facts["settings"][0]["is_gradient_changed"][1] = True
    assert judge_adafactor_steps(observation, 0).code == "gradient_changed"


def test_tensors_of_another_shape_are_malformed() -> None:
    observation = observe(0)
    observation.tensors["0.0"] = torch.zeros(3, 2)  # type: ignore[index]
    with pytest.raises((RuntimeError, ValueError, IndexError)):
        judge_adafactor_steps(observation, 0)


def test_what_no_misconception_explains_says_from_which_step_on() -> None:
    observation = observe(0)
    observation.tensors["0.0"][6:] += 0.01
    verdict = judge_adafactor_steps(observation, 0)
    assert verdict.code == "unrecognised"
    assert "differs first, at step 7. The steps before are right" in verdict.look_at

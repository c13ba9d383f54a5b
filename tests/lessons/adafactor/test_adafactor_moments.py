from __future__ import annotations

import pytest
import torch
from transformers.optimization import Adafactor

from grader.judging.lessons.adafactor.moments import estimates, judge_factored_moment
from grader.judging.lessons.adafactor.second_moment import factored_second_moment
from grader.lessons.adafactor.moments import MOMENT_STEPS, moment_cases
from grader.observation import Observation

SEEDS = (0, 20011)


def observe(seed: int, **facts: object) -> Observation:
    """What a check would see of the right estimate."""
    settings, tensors = [], {}
    for number, case in enumerate(moment_cases(seed)):
        tensors[str(number)] = estimates(factored_second_moment, case).float()
        tensors[f"{number}.again"] = tensors[str(number)][1]
        kept = torch.Size(case.shape[:-2]).numel() * sum(case.shape[-2:])
        settings.append({"state_elements": kept, "is_gradient_changed": False} | facts)
    return Observation({"settings": settings}, tensors)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_right_estimate_is_that_of_transformers(seed: int) -> None:
    for case in moment_cases(seed)[:3]:
        wanted = estimates(factored_second_moment, case)
        theirs = Adafactor(
            [torch.nn.Parameter(torch.ones(case.shape))], decay_rate=case.decay_rate, eps=(case.eps, 1e-3)
        )
        weight = theirs.param_groups[0]["params"][0]
        for step in range(1, MOMENT_STEPS + 1):
            weight.grad = case.gradient(step)
            theirs.step()
            state = theirs.state[weight]
            root = theirs._approx_sq_grad(state["exp_avg_sq_row"], state["exp_avg_sq_col"])
            assert torch.allclose(root.double() ** -2, wanted[step - 1], rtol=1e-4)


def test_rank_one_is_exact() -> None:
    squares = torch.outer(torch.tensor([1.0, 2.0, 5.0]), torch.tensor([3.0, 0.5])).double()
    assert torch.allclose(factored_second_moment(squares.sqrt(), {}, -0.8, 0.0), squares)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_an_estimate_that_is_not_finite_fails(value: float) -> None:
    observation = observe(0)
    observation.tensors["2"][-1] = value
    assert not judge_factored_moment(observation, 0).is_passed


def test_state_and_gradient_are_judged() -> None:
    observation = observe(0)
    observation.tensors["1.again"] = observation.tensors["1"][2]  # type: ignore[index]
    assert judge_factored_moment(observation, 0).code == "means_kept_outside"
    for elements, code in ((0, "means_kept_elsewhere"), (10_000, "state_too_large")):
        assert judge_factored_moment(observe(0, state_elements=elements), 0).code == code
    assert judge_factored_moment(observe(0, is_gradient_changed=True), 0).code == "gradient_changed"


def test_an_estimate_of_another_shape_is_malformed() -> None:
    observation = observe(0)
    observation.tensors["0"] = torch.zeros(3, 2)  # type: ignore[index]
    with pytest.raises((RuntimeError, ValueError, IndexError)):
        judge_factored_moment(observation, 0)

from __future__ import annotations

from typing import Any

import pytest
import torch

from grader.judging.decay_groups import is_decayed, judge_options
from grader.judging.lessons.adamw.backward import install_nothing, judge_adam_in_backward, weights_of
from grader.judging.lessons.adamw.backward_peak import judge_adam_backward_peak
from grader.judging.lessons.adamw.hooks import hook_mistakes
from grader.lessons.adamw.backward import backward_cases, backward_peak_case
from grader.lessons.adamw.forms import decay_forms_cases
from grader.observation import Observation
from grader.units import MIB

SEEDS = (0, 20011)
FACTS = {"steps_inside": 40, "steps_after": 0, "steps_of_others": 0, "gradients_alive": 1, "gradients_left": 0}
FACTS |= {"gradients_kept": 0, "nonzero_left": 0, "early_hooks": 0, "module_hooks": 0, "unfrozen": 0}
FACTS |= {"optimizers_made": 12, "made_inside": 0, "made_twice": 0}


def judge_backward(install: Any, seed: int, *, is_plain: bool = False, scale: float = 1.0, **facts: int):
    tensors = {}
    for number, case in enumerate(backward_cases(seed)):
        weights, start = weights_of(case, install, is_plain=is_plain), weights_of(case, install_nothing)[0]
        tensors[f"{number}.weights"] = start + scale * (weights - start)
    return judge_adam_in_backward(Observation({"settings": [FACTS | facts] * 2}, tensors), seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_weights_of_the_plain_loop_pass(seed: int) -> None:
    assert judge_backward(install_nothing, seed, is_plain=True).is_passed


@pytest.mark.parametrize("seed", SEEDS)
def test_every_mistake_of_a_hook_is_named(seed: int) -> None:
    for code, install, _ in hook_mistakes():
        assert judge_backward(install, seed).code == code


def test_a_scaled_update_is_seen() -> None:
    assert judge_backward(install_nothing, 0, is_plain=True, scale=4.0).code == "gradient_scaled"


@pytest.mark.parametrize(
    ("facts", "code"),
    [
        ({"gradients_alive": 12}, "gradients_wait"),
        ({"gradients_left": 3}, "gradient_left"),
        ({"steps_of_others": 3}, "another_optimizer"),
        ({"steps_after": 3}, "step_after_backward"),
        ({"unfrozen": 2}, "frozen_trained"),
        ({"gradients_left": 3, "early_hooks": 12}, "gradient_after_hook"),
        ({"gradients_kept": 12}, "gradients_kept"),
        ({"made_twice": 12}, "optimizer_made_twice"),
    ],
)
def test_equal_weights_alone_do_not_pass(facts: dict[str, int], code: str) -> None:
    assert judge_backward(install_nothing, 0, is_plain=True, **facts).code == code


@pytest.mark.parametrize(
    ("facts", "code"),
    [
        ({"early_hooks": 12}, "hook_before_gradient"),
        ({"module_hooks": 6}, "hook_of_module"),
        ({"optimizers_made": 0}, "make_optimizer_not_called"),
    ],
)
def test_the_cause_of_other_weights_is_named(facts: dict[str, int], code: str) -> None:
    assert judge_backward(install_nothing, 0, is_plain=True, scale=0.5, **facts).code == code


@pytest.mark.parametrize(("rows", "code"), [((0, 0, 0, 0), "updates_end"), ((-1, 0, 0, 2), "updates_skipped")])
def test_backwards_without_an_update_are_counted(rows: tuple[int, ...], code: str) -> None:
    case = backward_cases(0)[0]
    weights, start = weights_of(case, install_nothing, is_plain=True), weights_of(case, install_nothing)[0]
    seen = torch.stack([start if row < 0 else weights[row] for row in rows])
    verdict = judge_adam_in_backward(Observation({"settings": [FACTS] * 2}, {"0.weights": seen}), 0)
    assert verdict.code == code


def claim(peak_mib: float, above_mib: float, **facts: int) -> Observation:
    claims = [{"peak_bytes": int(peak_mib * MIB), "above_entry_bytes": int(above_mib * MIB), "device": "cpu"}]
    return Observation(FACTS | facts | {"claims": claims})


def test_the_peak_of_the_plain_update_does_not_pass() -> None:
    case = backward_peak_case(0)
    state_mib = 3 * sum(parameter.nbytes for parameter in case.make_model().parameters()) / MIB
    assert judge_adam_backward_peak(claim(state_mib + 19, 18.5), 0).is_passed
    assert judge_adam_backward_peak(claim(state_mib + 38, 37.5, gradients_alive=60), 0).code == "peak_with_gradients"
    assert judge_adam_backward_peak(claim(state_mib / 2, 18), 0).code == "peak_without_state"
    assert judge_adam_backward_peak(claim(state_mib, 18, steps_inside=0), 0).code == "peak_without_steps"


def judge_decays(decays: list[float | None], rate: float | None = None) -> str:
    case = decay_forms_cases(0)[0]
    options = {"optimizer": "AdamW", "decays": decays, "rates": [rate or case.learning_rate] * len(decays)}
    verdict = judge_options(case, [options] * case.updates)
    return verdict.code if verdict else "passed"


def test_groups_that_do_not_differ_are_named() -> None:
    case = decay_forms_cases(0)[0]
    named = list(case.make_model().named_parameters())
    right = [case.weight_decay if is_decayed(*item) else 0.0 for item in named]
    assert judge_decays(right) == "passed"
    assert judge_decays(right, 5e-5) == "other_learning_rate"
    assert judge_decays([0.0] * len(named)) == "decay_zero"
    assert judge_decays([case.weight_decay] * len(named)) == "decay_everywhere"
    assert judge_decays([value and 0.1 for value in right]) == "another_decay"
    assert judge_decays([value or None for value in right]) == "parameters_left_out"


def test_adamw_hides_a_gradient_that_is_four_times_too_large() -> None:
    ends = {}
    for make in (lambda p: torch.optim.SGD(p, lr=0.1), lambda p: torch.optim.AdamW(p, lr=1e-3)):
        for factor in (1.0, 4.0):
            weight = torch.nn.Parameter(torch.ones(64))
            optimizer = make([weight])
            generator = torch.Generator().manual_seed(0)
            for _ in range(20):
                weight.grad = factor * torch.randn(64, generator=generator)
                optimizer.step()
            ends[type(optimizer).__name__, factor] = weight.detach() - 1
    assert torch.allclose(ends["SGD", 4.0], 4 * ends["SGD", 1.0], rtol=1e-4, atol=1e-5)
    moved = ends["AdamW", 1.0].norm()
    assert (ends["AdamW", 4.0] - ends["AdamW", 1.0]).norm() < 1e-4 * moved

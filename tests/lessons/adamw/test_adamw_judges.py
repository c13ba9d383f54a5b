"""The judges of lesson 06 know PyTorch's steps and bytes, and name what their banks cannot produce."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from grader.judging.decay_groups import judge_groups
from grader.judging.lessons.adamw.backward import TABLE as BACKWARD
from grader.judging.lessons.adamw.backward import judge_adam_in_backward
from grader.judging.lessons.adamw.backward_peak import judge_adam_backward_peak
from grader.judging.lessons.adamw.counted import TABLE as COUNTS
from grader.judging.lessons.adamw.counted import judge_state_count
from grader.judging.lessons.adamw.state_size import TABLE as BYTES
from grader.judging.lessons.adamw.state_size import judge_state_bytes
from grader.judging.lessons.adamw.steps import ADAM, ADAMW, judge_adam_updates, judge_adamw_steps
from grader.judging.trajectories import find_miss, take_steps
from grader.lessons.adamw.backward import backward_cases, backward_peak_case
from grader.lessons.adamw.forms import decay_forms_cases
from grader.observation import Observation
from grader.testbed.optimizer_steps import STEPS
from grader.units import MIB

SEEDS = (0, 20_011)


def step_of_torch(optimizer: torch.optim.Optimizer) -> None:
    """Take AdamW's step with PyTorch, on the groups and the state of another optimizer."""
    if not hasattr(optimizer, "by_torch"):
        optimizer.by_torch = torch.optim.AdamW([dict(group) for group in optimizer.param_groups], foreach=False)
    for own, group in zip(optimizer.by_torch.param_groups, optimizer.param_groups, strict=True):
        own |= {name: value for name, value in group.items() if name != "params"}
    optimizer.by_torch.step()


def observe_steps(table, seed: int, **facts: Any) -> Observation:
    """Return what a check records of the right steps, without any side effects."""
    settings, tensors = [], {}
    for number, case in enumerate(table.reference.cases(seed)):
        for index, rows in enumerate(table.truths(seed)[number]):
            tensors[f"{number}.{index}"] = rows[1:].float()
        is_updated = [case.first_steps.get(index, 1) <= STEPS for index in range(len(case.shapes))]
        elements = [2 * torch.Size(shape).numel() * own for shape, own in zip(case.shapes, is_updated, strict=True)]
        clean = {"changed_options": [], "is_gradient_gone": False, "is_frozen": False, "state_elements": elements}
        clean |= {"state_bytes": [4 * number for number in elements], "state_entries": [3 * own for own in is_updated]}
        settings.append(clean | {"is_gradient_changed": [False] * len(elements)} | facts)
    return Observation({"settings": settings}, tensors)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("table", [ADAM, ADAMW])
def test_the_reference_takes_the_steps_of_torch(table, seed: int) -> None:
    for case, wanted in zip(table.reference.cases(seed), table.truths(seed), strict=True):
        by_torch = take_steps(step_of_torch, case, STEPS, torch.float64)
        assert find_miss(by_torch, wanted, 1e-9) is None


@pytest.mark.parametrize("seed", SEEDS)
def test_the_right_steps_in_float32_pass(seed: int) -> None:
    assert judge_adam_updates(observe_steps(ADAM, seed), seed).is_passed
    assert judge_adamw_steps(observe_steps(ADAMW, seed), seed).is_passed


@pytest.mark.parametrize(("code", "length"), [("bias_not_corrected", "3.16"), ("one_moment_not_corrected", "31.6")])
def test_the_length_of_the_first_step_shows_the_correction(code: str, length: str) -> None:
    # Exact: the corrections of step 1 divide by 1 - 0.9 = 0.1 and by the root of 1 - 0.999, which is 0.0316.
    observation = observe_steps(ADAM, 0)
    rows = ADAM.values(ADAM.versions[code][0], 0)[0]
    observation.tensors.update({f"0.{index}": row[1:].float() for index, row in enumerate(rows)})
    verdict = judge_adam_updates(observation, 0)
    assert verdict.expected.startswith("after step 1,") and f"a movement {length} times as long" in verdict.measured


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_steps_that_are_not_finite_fail(value: float) -> None:
    observation = observe_steps(ADAM, 0)
    observation.tensors["2.1"][-1] = value
    assert not judge_adam_updates(observation, 0).is_passed


def test_an_unknown_miss_names_its_step() -> None:
    observation = observe_steps(ADAM, 0)
    observation.tensors["0.0"][6:] += 0.1
    verdict = judge_adam_updates(observation, 0)
    assert verdict.code == "unrecognised" and "before step 7" in verdict.look_at


def test_tensors_of_another_shape_are_malformed() -> None:
    observation = observe_steps(ADAM, 0)
    observation.tensors["0.0"] = torch.zeros(3, 2)
    with pytest.raises((RuntimeError, ValueError)):
        judge_adam_updates(observation, 0)


@pytest.mark.parametrize(
    ("facts", "code"),
    [
        ({"state_elements": [10_000] * 6}, "state_too_large"),
        ({"state_bytes": [2] * 6}, "moments_in_another_format"),
        ({"changed_options": ["lr"]}, "options_changed"),
        ({"is_gradient_gone": True}, "gradient_dropped"),
        ({"is_frozen": True}, "parameter_frozen"),
    ],
)
def test_a_step_changes_nothing_but_weights_and_moments(facts: dict[str, Any], code: str) -> None:
    assert judge_adamw_steps(observe_steps(ADAMW, 0, **facts), 0).code == code


def test_a_small_miss_is_given_in_bytes() -> None:
    counted = BYTES.values(BYTES.versions["counter_of_8_bytes"][0], 0)
    assert judge_state_bytes(Observation({"predicted_bytes": counted}), 0).measured.endswith("416 bytes too many")


def judge_counts(counted: list[Any] | None = None, **facts: Any) -> str:
    clean = {"copied_bytes": [0] * 4, "is_changed": [False] * 4, "is_emptied": [False] * 4, "moves": [[]] * 4}
    return judge_state_count(Observation({"counted": counted or COUNTS.truths(0)} | clean | facts), 0).code


def test_a_count_leaves_the_state_as_it_is_and_where_it_is() -> None:
    assert judge_counts() == "passed"
    assert judge_counts(is_changed=[False, True, False, False]) == "state_changed"
    assert judge_counts(is_emptied=[True] * 4, is_changed=[True] * 4) == "state_emptied"
    assert judge_counts(moves=[["cpu"], [], [], []]) == "state_moved"
    assert judge_counts(counted=[(7, 7)] * 3 + [(0, 0)], copied_bytes=[8] * 4) == "copies_counted"


BACKWARD_FACTS = {"steps_inside": 40, "steps_after": 0, "steps_of_others": 0, "gradients_alive": 1, "gradients_left": 0}
BACKWARD_FACTS |= {"gradients_kept": 0, "nonzero_left": 0, "early_hooks": 0, "module_hooks": 0, "unfrozen": 0}
BACKWARD_FACTS |= {"made_twice": 0}


def judge_backward(seed: int, **facts: int) -> str:
    tensors = {f"{number}.weights": weights[1:] for number, weights in enumerate(BACKWARD.truths(seed))}
    return judge_adam_in_backward(Observation({"settings": [BACKWARD_FACTS | facts] * 2}, tensors), seed).code


@pytest.mark.parametrize("seed", SEEDS)
def test_the_weights_of_the_plain_loop_pass(seed: int) -> None:
    for case, wanted in zip(backward_cases(seed), BACKWARD.truths(seed), strict=True):
        model = case.make_model()
        trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
        optimizer = case.make_optimizer(trained)
        for batch in case.make_batches():
            case.loss(model(batch)).backward()
            optimizer.step()
            optimizer.zero_grad()
        ends = torch.cat([parameter.detach().flatten() for parameter in trained])
        assert torch.allclose(ends, wanted[-1], rtol=1e-5, atol=1e-6)
    assert judge_backward(seed) == "passed"


@pytest.mark.parametrize(
    ("facts", "code"),
    [
        ({"steps_after": 3}, "step_after_backward"),
        ({"gradients_left": 3, "nonzero_left": 3}, "gradient_left"),
        ({"steps_inside": 0}, "optimizer_not_used"),
        ({"made_twice": 12}, "optimizer_made_twice"),
    ],
)
def test_equal_weights_alone_do_not_pass(facts: dict[str, int], code: str) -> None:
    assert judge_backward(0, **facts) == code


def claim(peak_mib: float, above_mib: float, **facts: int) -> Observation:
    claims = [{"peak_bytes": int(peak_mib * MIB), "above_entry_bytes": int(above_mib * MIB), "device": "cpu"}]
    return Observation(BACKWARD_FACTS | facts | {"claims": claims})


def test_the_peak_of_the_plain_update_does_not_pass() -> None:
    case = backward_peak_case(0)
    state_mib = 3 * sum(parameter.nbytes for parameter in case.make_model().parameters()) / MIB
    assert judge_adam_backward_peak(claim(state_mib + 19, 18.5), 0).is_passed
    assert judge_adam_backward_peak(claim(state_mib + 38, 37.5, gradients_alive=60), 0).code == "peak_with_gradients"


def judge_decays(decays: list[float | None], rate: float | None = None) -> str:
    case = decay_forms_cases(0)[0]
    options = {"optimizer": "torch.AdamW", "decays": decays, "rates": [rate or case.learning_rate] * len(decays)}
    verdict = judge_groups(case, {"updates": [options] * case.updates})
    return verdict.code if verdict else "passed"


def test_groups_that_do_not_differ_are_named() -> None:
    case = decay_forms_cases(0)[0]
    named = list(case.make_model().named_parameters())
    right = [case.weight_decay if parameter.dim() > 1 else 0.0 for _, parameter in named]
    assert judge_decays(right) == "passed"
    assert judge_decays(right, 5e-5) == "other_learning_rate"
    assert judge_decays([0.0] * len(named)) == "decay_zero"
    assert judge_decays([value or None for value in right]) == "parameters_left_out"

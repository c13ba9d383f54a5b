import os
import subprocess
import sys

import pytest
import torch
from transformers.models.mixtral.modeling_mixtral import load_balancing_loss_func

from grader.judging.lessons.mixture_of_experts.costs import expert_costs
from grader.judging.lessons.mixture_of_experts.dispatch import TABLE as DISPATCH
from grader.judging.lessons.mixture_of_experts.dispatch import dispatch
from grader.judging.lessons.mixture_of_experts.routing import LOSS, ROUTE, balance_loss, route_with_bias
from grader.lessons.mixture_of_experts.dispatch import dispatch_cases, observe_dispatch
from grader.lessons.mixture_of_experts.routing import routing_cases

SEEDS = range(20)


def test_costs_are_those_of_a_model_of_one_block_by_hand():
    width, hidden, experts = 3, 5, 4
    costs = expert_costs(1, 1, width, hidden, experts, 2)
    assert costs["total"] == 4 * 9 + 4 * 3 + 4 * 30
    assert costs["active"] == 4 * 9 + 4 * 3 + 2 * 30


@pytest.mark.parametrize("experts", [2, 8])
def test_the_balance_loss_is_one_for_uniform_and_the_number_of_experts_for_collapsed_routers(experts):
    even = 40 * torch.nn.functional.one_hot(torch.arange(6 * experts) % experts, experts).double()
    collapsed = 40 * torch.nn.functional.one_hot(torch.zeros(6 * experts).long(), experts).double()
    assert float(balance_loss(even, 1)) == pytest.approx(1)
    assert float(balance_loss(collapsed, 1)) == pytest.approx(experts)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_balance_loss_is_that_of_transformers_over_the_chosen(seed):
    for case in routing_cases(seed):
        logits = case.draw_logits()
        theirs = load_balancing_loss_func((logits,), case.experts, case.chosen)
        assert float(balance_loss(logits, case.chosen)) == pytest.approx(float(theirs) / case.chosen, rel=1e-5)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_bias_changes_choices_and_even_loads_leave_it_alone(seed):
    drawn = [case for case in routing_cases(seed) if not case.is_even]
    (even,) = [case for case in routing_cases(seed) if case.is_even]
    for case in drawn:
        logits, bias = case.draw_logits(), case.draw_bias()
        with_bias, _ = route_with_bias(logits, bias, case.chosen, case.rate)
        without, _ = route_with_bias(logits, 0 * bias, case.chosen, case.rate)
        assert bool(((with_bias > 0) != (without > 0)).any())
    _, bias = route_with_bias(even.draw_logits(), even.draw_bias(), even.chosen, even.rate)
    assert torch.equal(bias, even.draw_bias())


@pytest.mark.parametrize("seed", SEEDS)
def test_some_layers_drop_tokens_and_the_first_has_room_for_all(seed):
    for place, case in enumerate(dispatch_cases(seed)):
        dense, calls = observe_dispatch(
            lambda tokens, gates, experts, factor: sum(
                gates[:, [i]] * expert(tokens) for i, expert in enumerate(experts)
            ),
            case,
        )
        limited, _ = observe_dispatch(dispatch, case)
        assert [sum(rows) for rows in calls] == [case.tokens] * case.experts
        assert torch.allclose(dense["output"], limited["output"]) == (place == 0)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("table", [LOSS, ROUTE, DISPATCH], ids=["loss", "route", "dispatch"])
def test_no_misconception_gives_the_right_values_at_any_of_the_seeds(table, seed):
    for misconception in table.misconceptions:
        for version in table.versions[misconception.code]:
            answer = table.answer(seed, table.values(version, seed))
            assert not answer.is_right, misconception.code


DRAW = """
import sys, torch
from grader.lessons.mixture_of_experts.dispatch import dispatch_cases
from grader.lessons.mixture_of_experts.routing import routing_cases
drawn = [[*case.draw(), *case.make_experts().parameters()] for case in dispatch_cases(5)]
drawn += [[case.draw_logits(), case.draw_bias(), case.draw_weights()] for case in routing_cases(5)]
torch.save([tensor.detach() for tensors in drawn for tensor in tensors], sys.argv[1])
"""


def test_cases_are_drawn_alike_whatever_the_instructions_of_the_cpu(tmp_path):
    drawn = []
    for limit in ("", "default"):
        environment = {**os.environ, "ATEN_CPU_CAPABILITY": limit} if limit else dict(os.environ)
        path = tmp_path / f"drawn-{limit}.pt"
        subprocess.run([sys.executable, "-c", DRAW, path], env=environment, check=True)
        drawn.append(torch.load(path, weights_only=True))
    assert all(torch.equal(one, other) for one, other in zip(*drawn, strict=True))


@pytest.mark.parametrize("seed", SEEDS)
def test_an_expert_is_right_below_and_one_right_above_a_mean_that_is_a_fraction(seed):
    found = set()
    for case in routing_cases(seed):
        gates, _ = route_with_bias(case.draw_logits(), case.draw_bias(), case.chosen, case.rate)
        loads = (gates > 0).sum(dim=0).double()
        if loads.mean() % 1:
            found |= {"below"} if loads.mean().floor() in loads else set()
            found |= {"above"} if loads.mean().ceil() in loads else set()
    assert found == {"below", "above"}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("code", ["smallest_capacity", "rounded_twice", "small_gates_ignored", "one_place_too_many"])
def test_each_wrong_capacity_shows_at_every_seed(seed, code):
    truths = DISPATCH.truths(seed)
    for version in DISPATCH.versions[code][:2]:
        values = DISPATCH.values(version, seed)
        assert not all(DISPATCH.is_near(value, truth) for value, truth in zip(values, truths, strict=True))

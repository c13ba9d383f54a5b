"""Checks of lesson 23: mixture of experts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from grader.lessons.mixture_of_experts.costs import cost_cases, run_costs
from grader.lessons.mixture_of_experts.dispatch import dispatch_cases, observe_dispatch
from grader.lessons.mixture_of_experts.job import run_job, tight_jobs
from grader.lessons.mixture_of_experts.routing import (
    require_balance,
    require_route,
    routing_cases,
    run_balance_loss,
)
from grader.observation import Observation
from grader.observing.contract import fail, require_number
from grader.observing.running import make_check

COSTS = ("total", "active", "bytes", "flops")


@make_check("expert_costs", ("layers", "every", "width", "hidden", "experts", "chosen"))
def check_expert_costs(expert_costs: Callable[..., Any], seed: int) -> Observation:
    """Ask for the costs of three models."""
    answers = []
    for case in cost_cases(seed):
        answer = run_costs(expert_costs, case)
        if not isinstance(answer, Mapping) or set(answer) != set(COSTS):
            measured = f"the keys {sorted(map(str, answer))}" if isinstance(answer, Mapping) else type(answer).__name__
            look_at = "Your answer has another form. Return a dict with one number for each of the four names."
            fail("other_keys", f"a dict with the keys {', '.join(COSTS)}", measured, look_at)
        answers.append({name: require_number(answer[name], f"the value of {name}") for name in COSTS})
    return Observation({"answers": answers})


@make_check("balance_loss", ("router_logits", "chosen"))
def check_balance_loss(balance_loss: Callable[..., Any], seed: int) -> Observation:
    """Compute five losses and their gradients."""
    runs = [
        run_balance_loss(lambda *given: require_balance(balance_loss(*given)), case) for case in routing_cases(seed)
    ]
    return Observation({}, {f"{name}.{index}": run[name] for index, run in enumerate(runs) for name in run})


@make_check("route_with_bias", ("router_logits", "bias", "chosen", "rate"))
def check_routing_bias(route_with_bias: Callable[..., Any], seed: int) -> Observation:
    """Route five batches."""
    runs = [require_route(route_with_bias, case) for case in routing_cases(seed)]
    return Observation({}, {f"{name}.{index}": run[name] for index, run in enumerate(runs) for name in run})


@make_check("dispatch", ("tokens", "gates", "experts", "capacity_factor"))
def check_dispatched_tokens(dispatch: Callable[..., Any], seed: int) -> Observation:
    """Run four layers forward and backward."""
    runs = [observe_dispatch(dispatch, case)[0] for case in dispatch_cases(seed)]
    return Observation({}, {f"{name}.{index}": run[name] for index, run in enumerate(runs) for name in run})


@make_check("dispatch", ("tokens", "gates", "experts", "capacity_factor"))
def check_dispatch_rows(dispatch: Callable[..., Any], seed: int) -> Observation:
    """Count the rows that each expert is called on."""
    calls, tensors = [], {}
    for index, case in enumerate(dispatch_cases(seed)):
        run, rows = observe_dispatch(dispatch, case)
        calls.append(rows)
        tensors[f"output.{index}"] = run["output"]
    return Observation({"calls": calls}, tensors)


@make_check("fit_within", ("weights", "assemble", "teacher", "batches", "budget_bytes"))
def check_tight_job(fit_within: Callable[..., Any], seed: int) -> Observation:
    """Do two jobs, measure their peaks, and let the classifiers answer for other rows."""
    runs = [run_job(fit_within, case) for case in tight_jobs(seed)]
    claims = [facts.pop("claim") for facts, _ in runs]
    tensors = {str(index): answers for index, (_, answers) in enumerate(runs)}
    return Observation({"settings": [facts for facts, _ in runs], "claims": claims}, tensors)

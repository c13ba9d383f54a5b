"""Wrong choices of blocks, and wrong runs of them, are recognised at two sizes and two seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

from grader.judging.lessons.gradient_checkpointing import budget
from grader.judging.lessons.gradient_checkpointing.budget import judge_budget_gradients, judge_budget_peak
from grader.judging.lessons.gradient_checkpointing.budget_truth import peak_bytes
from grader.lessons.gradient_checkpointing.budget import BudgetCase, budget_cases
from grader.observation import Observation

SEEDS = (0, 20_011)
Facts = dict[str, Any]


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def judge_plans(seed: int, plans: Sequence[Sequence[int]], first_bytes: int | None = None) -> str:
    """Judge what would be seen if each model recomputed the blocks of its plan."""
    cases = budget_cases(seed)
    peaks = [peak_bytes(case, plan) for case, plan in zip(cases, plans, strict=True)]
    if first_bytes is not None:
        peaks[0] = first_bytes
    claims = [{"peak_bytes": peak, "above_entry_bytes": 0, "device": "cpu"} for peak in peaks]
    settings = [{"recomputed": list(plan)} for plan in plans]
    return judge_budget_peak(Observation({"settings": settings, "claims": claims}), seed).code


RIGHT = ((3, 2, 0), (4,), (1,), ())
WRONG_PLANS: dict[str, tuple[Sequence[int], ...]] = {
    "nothing_recomputed": ((), *RIGHT[1:]),
    "one_checkpoint_for_all": (range(6), *RIGHT[1:]),
    "large_segments": ((3, 4, 5, 0, 1, 2), *RIGHT[1:]),
    "largest_block_chosen": ((5, 4, 3), *RIGHT[1:]),
    "wrong_blocks_chosen": ((4, 1), *RIGHT[1:]),
    "gradient_inside_forgotten": ((2, 0), *RIGHT[1:]),
    "block_at_work_forgotten": ((0,), *RIGHT[1:]),
    "kept_inputs_forgotten": (RIGHT[0], (), (1,), ()),
    "parameters_forgotten": (*RIGHT[:2], (), ()),
    "every_block_recomputed": ((5, 4, 3, 2, 1, 0), *RIGHT[1:]),
    "last_block_recomputed": ((5, 3, 2, 0), *RIGHT[1:]),
    "more_recomputed_than_needed": ((4, 3, 2, 0), *RIGHT[1:]),
    "sets_in_another_order": (RIGHT[0], (2, 1), (1,), ()),
    "fewest_bytes_recomputed": (RIGHT[0], (3, 2), (1,), ()),
    "recomputed_needlessly": (*RIGHT[:3], (1,)),
}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("code", WRONG_PLANS)
def test_every_wrong_choice_of_blocks_is_named(code: str, seed: int) -> None:
    case = budget_cases(seed)[0]
    above = case.budget_bytes + 1 if code in ("one_checkpoint_for_all", "large_segments") else None
    assert judge_plans(seed, WRONG_PLANS[code], above) == code


@pytest.mark.parametrize("seed", SEEDS)
def test_the_right_choice_passes_and_its_largest_block_first_does_not(seed: int) -> None:
    assert judge_plans(seed, RIGHT) == "passed"
    assert judge_plans(seed, (RIGHT[0], (5,), (1,), ())) == "largest_block_chosen"


def test_a_claim_without_the_model_in_it_is_refused() -> None:
    with pytest.raises(ValueError, match="at entry"):
        judge_plans(0, RIGHT, 1)


def judge_runs(seed: int, change: Callable[[Facts, dict[str, Tensor], BudgetCase], None]) -> str:
    settings, tensors = [], {}
    for index, case in enumerate(budget_cases(seed)[:2]):
        outputs, gradient = budget._plain_run(case)
        facts, seen = {"is_training": [True], "needs_gradient": True, "missing": []}, {}
        seen |= {"outputs": outputs, "gradient": gradient}
        change(facts, seen, case)
        settings.append(facts)
        tensors |= {f"{index}.{name}": value for name, value in seen.items()}
    return judge_budget_gradients(Observation({"settings": settings}, tensors), seed).code


RUN_MISTAKES: dict[str, Callable[[Facts, dict[str, Tensor], BudgetCase], None]] = {
    "passed": lambda facts, seen, case: None,
    "output_without_graph": lambda facts, seen, case: facts.update(needs_gradient=False),
    "run_in_eval_mode": lambda facts, seen, case: facts.update(is_training=[False]),
    "first_block_untrained": lambda facts, seen, case: facts.update(missing=["0.0.weight"]),
    "some_gradients_missing": lambda facts, seen, case: facts.update(missing=["0.0.weight", "1.0.weight"]),
    "gradient_scaled": lambda facts, seen, case: seen.update(gradient=seen["gradient"] / 2),
    "gradient_not_finite": lambda facts, seen, case: seen.update(gradient=seen["gradient"] * float("nan")),
    "random_state_not_kept": lambda facts, seen, case: seen.update(gradient=seen["gradient"].flip(0)),
    "other_gradient": lambda facts, seen, case: (
        seen.update(gradient=seen["gradient"].flip(0)) if case.is_token_model else None
    ),
}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("code", RUN_MISTAKES)
def test_every_wrong_run_within_a_budget_is_named(code: str, seed: int) -> None:
    assert judge_runs(seed, RUN_MISTAKES[code]) == code

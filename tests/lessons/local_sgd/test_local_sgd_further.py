"""Misconceptions in the further exercises of local SGD are recognised by what the ranks report."""

from __future__ import annotations

from typing import Any

import pytest

from grader.judging.lessons.local_sgd.forms import judge_local_sgd_accelerate
from grader.judging.lessons.local_sgd.methods import _KNOWN, judge_local_sgd_method, method_of
from grader.lessons.local_sgd.epochs import accelerated_cases
from grader.lessons.local_sgd.methods import DRIVER, METHODS, method_cases
from grader.observation import Observation

SEEDS = (0, 20011)


def method_run(seed: int, answer=lambda case, rank: method_of(case), **facts: Any) -> Observation:
    settings = []
    for case in method_cases(seed):
        ranks = []
        for rank in range(case.world_size):
            steps = case.updates if method_of(case) != DRIVER or rank == case.driver else 0
            common = {"answer": answer(case, rank), "is_text": True, "trained": 1, "steps": steps, "left": []}
            common["is_copy"] = False
            ranks.append(common | facts)
        settings.append(ranks)
    return Observation({"settings": settings})


def use_run(seed: int, made: list[list[Any]] | None = None, **library: Any) -> Observation:
    used = {"prepared": ["model", "optimizer", "loader"]} | library
    settings = []
    for case in accelerated_cases(seed):
        backward = library.get("backward", [case.k] * case.micro_batches)
        facts = {"library": used | {"backward": backward}, "forward_rows": [case.rows] * case.micro_batches}
        right = [[case.k * case.every, True, case.micro_batches]]
        settings.append([facts | {"local_sgd": right if made is None else made}] * case.world_size)
    return Observation({"settings": settings})


@pytest.mark.parametrize("seed", SEEDS)
def test_a_right_test_passes_in_every_order(seed: int) -> None:
    assert judge_local_sgd_method(method_run(seed), seed).is_passed
    assert {method_of(case) for case in method_cases(seed)} == set(METHODS)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("wrong", "code"), [(wrong, code) for wrong, code, _ in _KNOWN])
def test_a_wrong_test_is_told(seed: int, wrong, code: str) -> None:
    run = method_run(seed, lambda case, rank: wrong(case))
    assert judge_local_sgd_method(run, seed).code == code


@pytest.mark.parametrize(
    ("answer", "facts", "code"),
    [
        (lambda case, rank: "gradients", {}, "same_for_all"),
        (lambda case, rank: "nothing" if rank else method_of(case), {}, "ranks_answer_differently"),
        (lambda case, rank: "NoneType", {"is_text": False}, "returned_none"),
        (lambda case, rank: "int", {"is_text": False}, "no_text"),
        (lambda case, rank: "DDP", {}, "other_word"),
        (lambda case, rank: method_of(case), {"trained": 2}, "trained_another_time"),
        (lambda case, rank: method_of(case), {"is_copy": True}, "trained_a_copy"),
        (lambda case, rank: method_of(case), {"left": ["a hook"]}, "hook_left_behind"),
        (lambda case, rank: method_of(case), {"left": ["another optimizer.step"]}, "step_left_replaced"),
        (lambda case, rank: method_of(case), {"steps": 1}, "stepped_too"),
    ],
)
def test_a_call_that_breaks_the_contract_is_told(answer, facts: dict, code: str) -> None:
    for seed in SEEDS:
        assert judge_local_sgd_method(method_run(seed, answer, **facts), seed).code == code


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"prepared": [], "backward": []}, "accelerator_not_used"),
        ({"prepared": ["model", "optimizer"]}, "loader_not_prepared"),
        ({"prepared": ["model", "loader"]}, "optimizer_not_prepared"),
        ({"backward": [2]}, "accelerator_backward_not_used"),
        ({"made": []}, "local_sgd_not_used"),
        ({"made": [[12, False, 21]]}, "local_sgd_disabled"),
        ({"made": [[12, True, 0]]}, "step_not_called"),
        ({"made": [[4, True, 21]]}, "micro_batches_counted"),
        ({"made": [[12, True, 7]]}, "multiplied_by_k_too"),
        ({"made": [[12, True, 1]] * 21}, "local_sgd_made_again"),
        ({"made": [[13, True, 21]]}, "averaged_one_too_late"),
        ({"made": [[1, True, 21]]}, "divided_by_k"),
        ({"made": [[5, True, 21]]}, "other_steps"),
    ],
)
def test_a_wrong_use_of_accelerate_is_told(changes: dict, code: str) -> None:
    for seed in SEEDS:
        assert judge_local_sgd_accelerate(use_run(seed, **changes), seed).code == code

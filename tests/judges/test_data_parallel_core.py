"""Misconceptions about data parallel training are recognised by what the ranks report, at two sizes and two seeds."""

from __future__ import annotations

import pytest
import torch
from data_parallel_runs import epoch_run, hooks_run, start_of

from grader.cases.data_parallel import calls_cases
from grader.judges.data_parallel import (
    judge_data_parallel_calls,
    judge_data_parallel_traffic,
    judge_data_parallel_updates,
    judge_synchronised_bytes,
    judge_synchronised_gradients,
)
from grader.judges.data_parallel.calls import _BACKWARDS, _BUCKETS, _SIZES, predict
from grader.observation import Observation

SEEDS = (0, 20011)


@pytest.mark.parametrize("seed", SEEDS)
def test_right_runs_pass(seed: int) -> None:
    predicted = [list(predict(case)) for case in calls_cases(seed)]
    assert judge_data_parallel_calls(Observation({"predicted": predicted}), seed).is_passed
    for judge in (judge_synchronised_gradients, judge_synchronised_bytes):
        assert judge(hooks_run(seed), seed).is_passed
    for judge in (judge_data_parallel_updates, judge_data_parallel_traffic):
        assert judge(epoch_run(seed), seed).is_passed


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("place", "rule"),
    [(place, rule) for place, rules in enumerate((_BUCKETS, _SIZES, _BACKWARDS)) for rule in rules[1:]],
    ids=lambda value: getattr(value, "code", str(value)),
)
def test_a_wrong_count_is_told_by_its_rule(seed: int, place: int, rule) -> None:
    parts = [_BUCKETS[0], _SIZES[0], _BACKWARDS[0]]
    parts[place] = rule
    predicted = [list(predict(case, *parts)) for case in calls_cases(seed)]
    assert judge_data_parallel_calls(Observation({"predicted": predicted}), seed).code == rule.code


def test_predictions_of_another_case_are_told() -> None:
    predicted = [list(predict(case)) for case in calls_cases(0)]
    verdict = judge_data_parallel_calls(Observation({"predicted": predicted}), 20011)
    assert verdict.code == "visible_case_hard_coded"


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("gradient", "code"),
    [
        (lambda case, update, rank, number: update.mean * case.world_size, "gradients_summed"),
        (lambda case, update, rank, number: update.mean / case.world_size, "divided_twice"),
        (lambda case, update, rank, number: update.mean * 0.1, "gradient_scaled"),
        (lambda case, update, rank, number: update.own[rank], "copy_reduced"),
        (lambda case, update, rank, number: update.own[1], "gradient_of_one_rank"),
        (lambda case, update, rank, number: update.mean.bfloat16().float(), "gradient_rounded"),
        (lambda case, update, rank, number: update.mean * float("nan"), "gradient_not_finite"),
        (lambda case, update, rank, number: update.mean * 0, "no_gradient"),
        (lambda case, update, rank, number: update.mean.roll(1), "other_gradient"),
    ],
)
def test_a_wrong_gradient_of_a_hook_is_told(seed: int, gradient, code: str) -> None:
    assert judge_synchronised_gradients(hooks_run(seed, gradient), seed).code == code


@pytest.mark.parametrize(
    ("start", "code"),
    [
        (start_of, "no_broadcast"),
        (lambda case, rank: start_of(case, case.world_size - 1), "broadcast_from_another_rank"),
        (lambda case, rank: torch.zeros_like(start_of(case, 0)), "weights_of_no_rank"),
        (
            lambda case, rank: torch.stack([start_of(case, index) for index in range(case.world_size)]).mean(dim=0),
            "weights_averaged",
        ),
    ],
)
def test_wrong_first_weights_are_told(start, code: str) -> None:
    for seed in SEEDS:
        assert judge_synchronised_gradients(hooks_run(seed, start=start), seed).code == code


def test_collectives_of_a_backward_are_told() -> None:
    for calls, code in (
        (lambda case: [], "nothing_reduced"),
        (lambda case: [["all_gather", 40]], "other_collectives"),
        (lambda case: [["all_reduce", 8]], "some_gradients_not_reduced"),
    ):
        assert judge_synchronised_bytes(hooks_run(0, calls=calls), 0).code == code
    assert judge_synchronised_gradients(hooks_run(0, ddp_made=1), 0).code == "ddp_used"


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"weigh": lambda size, k, ranks: size}, "gradient_not_averaged"),
        ({"weigh": lambda size, k, ranks: size / k}, "short_group_divided_by_k"),
        ({"weigh": lambda size, k, ranks: 1 / ranks}, "divided_by_ranks_too"),
        ({"weigh": lambda size, k, ranks: ranks}, "summed_over_ranks"),
        ({"is_own": True}, "ranks_not_averaged"),
        ({"is_own": True, "is_synchronised": []}, "wrapper_bypassed"),
        ({"is_own": True, "is_synchronised": [False] * 4}, "always_silent"),
        ({"rows": lambda case, rank: range(case.world_size * case.micro_batches)}, "all_rows_on_every_rank"),
        (
            {"rows": lambda case, rank: range(0, case.world_size * case.micro_batches, case.world_size)},
            "same_rows_on_every_rank",
        ),
        (
            {"rows": lambda case, rank: range(rank * case.micro_batches, (rank + 1) * case.micro_batches)},
            "rows_in_one_piece",
        ),
    ],
)
def test_a_wrong_epoch_is_told(seed: int, changes: dict, code: str) -> None:
    assert judge_data_parallel_updates(epoch_run(seed, **changes), seed).code == code


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"reduced": lambda size: size, "no_sync_entered": 0}, "no_sync_not_used"),
        ({"reduced": lambda size: size}, "no_sync_around_backward_only"),
        ({"reduced": lambda size: 0}, "never_synchronised"),
        ({"reduced": lambda size: 2}, "reduced_twice"),
    ],
)
def test_traffic_of_an_epoch_is_told(changes: dict, code: str) -> None:
    for seed in SEEDS:
        assert judge_data_parallel_traffic(epoch_run(seed, **changes), seed).code == code


@pytest.mark.parametrize("judge", [judge_synchronised_gradients, judge_data_parallel_updates])
def test_a_report_with_parts_missing_is_refused(judge) -> None:
    right = hooks_run(0) if judge is judge_synchronised_gradients else epoch_run(0)
    with pytest.raises(LookupError):
        judge(Observation(right.facts, {}), 0)
    with pytest.raises(ValueError, match="ranks reported"):
        judge(Observation({"settings": [[] for _ in range(4)]}, right.tensors), 0)

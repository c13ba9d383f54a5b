"""Misconceptions about data parallel training are recognised by what the ranks report, at two sizes and two seeds."""

from __future__ import annotations

import pytest
import torch
from data_parallel_runs import epoch_run, hooks_run, own_rows, start_of

from grader.judging.lessons.data_parallel.accumulation import is_round, judge_data_parallel_updates
from grader.judging.lessons.data_parallel.call_mistakes import (
    BACKWARDS,
    BUCKETS,
    BYTE_MISTAKES,
    CALL_MISTAKES,
    SIZES,
    predict,
)
from grader.judging.lessons.data_parallel.calls import judge_data_parallel_calls
from grader.judging.lessons.data_parallel.hook_causes import parts_of
from grader.judging.lessons.data_parallel.hooks import judge_synchronised_gradients
from grader.judging.lessons.data_parallel.traffic import (
    judge_data_parallel_traffic,
    judge_synchronised_bytes,
    trained_bytes,
)
from grader.lessons.data_parallel.accumulation import accumulation_cases
from grader.lessons.data_parallel.calls import calls_cases
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
    [(place, rule) for place, rules in enumerate((BUCKETS, SIZES, BACKWARDS)) for rule in rules[1:]],
    ids=lambda value: getattr(value, "code", str(value)),
)
def test_a_wrong_count_is_told_by_its_rule(seed: int, place: int, rule) -> None:
    parts = [BUCKETS[0], SIZES[0], BACKWARDS[0]]
    parts[place] = rule
    predicted = [list(predict(case, *parts)) for case in calls_cases(seed)]
    assert judge_data_parallel_calls(Observation({"predicted": predicted}), seed).code == rule.code


@pytest.mark.parametrize("seed", SEEDS)
def test_frozen_tensors_in_an_open_bucket_are_told(seed: int) -> None:
    for mistake in CALL_MISTAKES[1:3]:
        predicted = [[mistake.yields(case), predict(case)[1]] for case in calls_cases(seed)]
        assert judge_data_parallel_calls(Observation({"predicted": predicted}), seed).code == mistake.code
    assert [mistake.code for mistake in CALL_MISTAKES[1:3]] == ["frozen_closes_bucket", "frozen_empties_bucket"]


@pytest.mark.parametrize("mistake", BYTE_MISTAKES, ids=lambda mistake: mistake.code)
def test_wrong_bytes_are_told(mistake) -> None:
    for seed in SEEDS:
        predicted = [[predict(case)[0], mistake.yields(case)] for case in calls_cases(seed)]
        assert judge_data_parallel_calls(Observation({"predicted": predicted}), seed).code == mistake.code


def test_predictions_of_another_case_are_told() -> None:
    predicted = [list(predict(case)) for case in calls_cases(0)]
    verdict = judge_data_parallel_calls(Observation({"predicted": predicted}), 20011)
    assert verdict.code == "visible_case_hard_coded"


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("gradient", "code"),
    [
        (lambda case, update, rank, number: update.mean * case.world_size, "gradients_summed"),
        (
            lambda case, update, rank, number: update.mean * (case.world_size if rank else 1),
            "divided_on_some_ranks",
        ),
        (lambda case, update, rank, number: update.mean / case.world_size, "divided_twice"),
        (lambda case, update, rank, number: update.mean * 0.1, "gradient_scaled"),
        (lambda case, update, rank, number: update.mean * case.world_size / 5, "divided_by_another_number"),
        (lambda case, update, rank, number: torch.stack(update.own).amax(dim=0), "largest_taken"),
        (lambda case, update, rank, number: torch.stack(update.own).amin(dim=0), "smallest_taken"),
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
        (lambda case: [["all_reduce", 8]], "hook_leaves_some_out"),
        (lambda case: [["all_reduce", trained_bytes(case)], *[["all_reduce", 8]] * 8], "hook_reduces_others"),
        (lambda case: [["all_reduce", trained_bytes(case) + 8]], "bytes_in_excess"),
    ):
        assert judge_synchronised_bytes(hooks_run(0, calls=calls), 0).code == code
    unhooked = hooks_run(0, calls=lambda case: [["all_reduce", 8]], hooked=[False] * 8)
    assert judge_synchronised_bytes(unhooked, 0).code == "some_gradients_not_reduced"
    for judge in (judge_synchronised_gradients, judge_synchronised_bytes):
        assert judge(hooks_run(0, ddp_made=1), 0).code == "ddp_used"
        assert judge(hooks_run(0, replaced=["torch.Tensor.backward"]), 0).code == "function_replaced"
        assert judge(hooks_run(0, parameters_changed=True), 0).code == "parameters_changed"


@pytest.mark.parametrize(
    ("facts", "code"),
    [
        ({"prepare_calls": [["broadcast", 40]]}, "copy_broadcast"),
        ({"forward_calls": [["broadcast", 40]]}, "broadcast_in_forward"),
        ({"calls": lambda case: []}, "nothing_synchronised"),
    ],
)
def test_first_weights_of_each_rank_are_told_by_its_collectives(facts: dict, code: str) -> None:
    for seed in SEEDS:
        assert judge_synchronised_gradients(hooks_run(seed, start=start_of, **facts), seed).code == code


@pytest.mark.parametrize(
    ("facts", "calls", "code"),
    [
        ({"moved": [False, True, True]}, lambda case: [["all_reduce", 8]], "weights_reduced"),
        ({"module_hooks": True}, lambda case: [], "module_hook_too_early"),
    ],
)
def test_own_gradients_are_told_by_what_the_hooks_did(facts: dict, calls, code: str) -> None:
    for seed in SEEDS:
        run = hooks_run(seed, lambda case, update, rank, number: update.own[rank], calls=calls, **facts)
        assert judge_synchronised_gradients(run, seed).code == code


def test_a_rank_without_an_update_is_told() -> None:
    for seed in SEEDS:
        run = epoch_run(seed)
        facts = run.facts["settings"][0][1]
        facts["events"] = [event for event in facts["events"] if event != "update"]
        verdict = judge_data_parallel_updates(run, seed)
        assert verdict.code == "rank_without_update" and "rank 1 of 2" in verdict.measured


def _all_but_first(case, update, rank, number):
    part = parts_of(case)["6.bias"]
    gradient = update.own[rank].clone()
    gradient[part] = update.mean[part]
    return gradient


@pytest.mark.parametrize(
    ("facts", "calls", "code"),
    [
        ({}, lambda case: [["all_reduce", 4]] * 8, "hook_of_another_parameter"),
        ({}, lambda case: [["all_reduce", 4], ["all_reduce", 24]], "hook_leaves_some_out"),
        ({"module_hooks": True}, lambda case: [["all_reduce", 4]], "hook_of_a_module"),
    ],
)
def test_hooks_that_leave_gradients_out_are_told(facts, calls, code: str) -> None:
    run = hooks_run(0, _all_but_first, calls=calls, **facts)
    assert judge_synchronised_gradients(run, 0).code == code
    assert judge_synchronised_bytes(run, 0).code == code


def test_formats_and_forgotten_waits_are_told_by_their_bytes() -> None:
    doubled = hooks_run(0, calls=lambda case: [["all_reduce", 2 * trained_bytes(case)]])
    assert judge_synchronised_bytes(doubled, 0).code == "gradients_in_64_bits"
    twice = hooks_run(0, calls=lambda case: [["all_reduce", trained_bytes(case)]] * 2)
    assert judge_synchronised_bytes(twice, 0).code == "reduced_several_times"
    assert (
        judge_synchronised_bytes(hooks_run(0, calls=lambda case: [], unwaited=3), 0).code == "all_reduce_not_waited_for"
    )


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"weigh": lambda size, k, ranks: size}, "gradient_not_averaged"),
        ({"weigh": lambda size, k, ranks: size / k}, "short_group_divided_by_k"),
        ({"weigh": lambda size, k, ranks: 1 / ranks}, "divided_by_ranks_too"),
        ({"weigh": lambda size, k, ranks: ranks}, "summed_over_ranks"),
        ({"weigh": lambda size, k, ranks: 0.77}, "gradient_scaled"),
        ({"other_steps": 1}, "own_optimizer"),
        ({"list_changed": True}, "micro_batches_changed"),
        ({"is_own": True, "is_synchronised": [], "ddp_made": 1}, "ranks_not_averaged"),
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
        (
            {"rows": lambda case, rank: own_rows(case, rank) + own_rows(case, rank)[: -case.micro_batches % case.k]},
            "short_group_filled",
        ),
    ],
)
def test_a_wrong_epoch_is_told(seed: int, changes: dict, code: str) -> None:
    assert judge_data_parallel_updates(epoch_run(seed, **changes), seed).code == code


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"reduced": lambda size: size, "no_sync_entered": 0, "no_sync_called": 0}, "no_sync_not_used"),
        ({"reduced": lambda size: size, "no_sync_entered": 0}, "no_sync_never_entered"),
        ({"reduced": lambda size: size}, "no_sync_around_backward_only"),
        ({"reduced": lambda size: 0}, "never_synchronised"),
        ({"reduced": lambda size: 2}, "reduced_twice"),
        ({"events": ["update", "forward", "backward"]}, "update_before_backward"),
    ],
)
def test_traffic_of_an_epoch_is_told(changes: dict, code: str) -> None:
    for seed in SEEDS:
        assert judge_data_parallel_traffic(epoch_run(seed, **changes), seed).code == code


@pytest.mark.parametrize("seed", SEEDS)
def test_a_summed_loss_is_told_by_its_rows(seed: int) -> None:
    rows = accumulation_cases(seed)[0].rows
    assert judge_data_parallel_updates(epoch_run(seed, weigh=lambda *_: rows), seed).code == "loss_summed"


@pytest.mark.parametrize(("extra_bytes", "code"), [(8, "passed"), (200, "bytes_beside_gradients")])
def test_one_number_for_a_log_may_be_reduced_besides(extra_bytes: int, code: str) -> None:
    right = epoch_run(0)
    for ranks in right.facts["settings"]:
        for facts in ranks:
            facts["calls"][0].append(["all_reduce", extra_bytes])
    assert judge_data_parallel_traffic(right, 0).code == code


@pytest.mark.parametrize("norm", [0.1, 5.0, 0.025, 0.0])
def test_norms_that_a_person_writes(norm: float) -> None:
    assert is_round(norm) == (norm in (0.1, 5.0))


@pytest.mark.parametrize("judge", [judge_synchronised_gradients, judge_data_parallel_updates])
def test_a_report_with_parts_missing_is_refused(judge) -> None:
    right = hooks_run(0) if judge is judge_synchronised_gradients else epoch_run(0)
    with pytest.raises(LookupError):
        judge(Observation(right.facts, {}), 0)
    with pytest.raises(ValueError, match="ranks reported"):
        judge(Observation({"settings": [[] for _ in range(4)]}, right.tensors), 0)

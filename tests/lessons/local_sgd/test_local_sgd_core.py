"""Misconceptions about local SGD are recognised by what the ranks report, at two seeds and several settings."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from local_sgd_runs import average_state, averaged_bytes, averaging_run, epoch_run

from grader.judging.lessons.local_sgd.averaging import judge_averaged_parameters
from grader.judging.lessons.local_sgd.epochs import group_gradient, judge_local_sgd_updates
from grader.judging.lessons.local_sgd.evidence import averages_of
from grader.judging.lessons.local_sgd.synchronisations import (
    COUNT_MISTAKES,
    EQUAL_RULES,
    is_equal,
    judge_local_sgd_synchronisations,
    synchronisations,
)
from grader.judging.lessons.local_sgd.traffic import average_bytes, judge_averaged_bytes, judge_local_sgd_traffic
from grader.lessons.local_sgd.averaging import averaging_cases, vectors_of
from grader.lessons.local_sgd.epochs import epoch_cases
from grader.lessons.local_sgd.synchronisations import synchronisations_cases
from grader.observation import Observation

SEEDS = (0, 20011)


def predicted(seed: int, count=synchronisations, equal=is_equal) -> Observation:
    return Observation({"predicted": [[count(case), equal(case)] for case in synchronisations_cases(seed)]})


@pytest.mark.parametrize("seed", SEEDS)
def test_right_runs_pass(seed: int) -> None:
    assert judge_local_sgd_synchronisations(predicted(seed), seed).is_passed
    for judge in (judge_averaged_parameters, judge_averaged_bytes):
        assert judge(averaging_run(seed), seed).is_passed
    run = epoch_run(seed)
    assert judge_local_sgd_updates(run, seed).is_passed
    assert judge_local_sgd_traffic(run, seed).is_passed


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("mistake", COUNT_MISTAKES, ids=lambda mistake: mistake.code)
def test_a_wrong_count_is_told_by_its_rule(seed: int, mistake) -> None:
    assert judge_local_sgd_synchronisations(predicted(seed, mistake.yields), seed).code == mistake.code


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("rule", EQUAL_RULES, ids=lambda rule: rule.code)
def test_a_wrong_equality_is_told_by_its_rule(seed: int, rule) -> None:
    assert judge_local_sgd_synchronisations(predicted(seed, equal=rule.answers), seed).code == rule.code


def test_predictions_of_another_case_are_told() -> None:
    assert judge_local_sgd_synchronisations(predicted(0), 20011).code == "visible_case_hard_coded"


def put(name: str, value):
    """Change one part of what an average leaves."""

    def change(case, parts) -> None:
        parts[name] = [value(case, parts, rank) for rank in range(case.world_size)]

    return change


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("change", "code"),
    [
        (put("trained", lambda case, parts, rank: case.world_size * parts["trained"][0]), "summed_parameters"),
        (put("trained", lambda case, parts, rank: parts["trained"][0] / case.world_size), "divided_twice_parameters"),
        (put("trained", lambda case, parts, rank: 0.9 * parts["trained"][0]), "scaled_parameters"),
        (put("trained", lambda case, parts, rank: parts["before"][rank]), "copy_averaged"),
        (put("trained", lambda case, parts, rank: parts["before"][0]), "one_rank_parameters"),
        (put("trained", lambda case, parts, rank: parts["trained"][0] * float("nan")), "not_finite_parameters"),
        (put("trained", lambda case, parts, rank: parts["trained"][0].bfloat16().float()), "rounded_parameters"),
        (put("trained", lambda case, parts, rank: parts["trained"][0].half().float()), "rounded_parameters"),
        (put("statistics", lambda case, parts, rank: 2.5 * parts["statistics"][0]), "scaled_statistics"),
        (put("counts", lambda case, parts, rank: torch.stack(parts["counts"]).sum(dim=0)), "counts_summed"),
        (put("counts", lambda case, parts, rank: parts["counts"][rank] + 7), "counts_changed"),
        (put("gradients", lambda case, parts, rank: 0 * parts["gradients"][rank]), "gradients_changed"),
        (put("frozen", lambda case, parts, rank: parts["frozen"][rank] * (1 + 2e-7)), "frozen_rounded"),
    ],
)
def test_a_wrong_average_is_told(seed: int, change, code: str) -> None:
    assert judge_averaged_parameters(averaging_run(seed, change), seed).code == code


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("left_out", "code"),
    [
        ({"spare"}, "left_out_without_gradient"),
        ({"gain"}, "single_numbers_left_out"),
        ({"2.bias", "gain", "spare"}, "vectors_left_out"),
        ({"2.weight", "2.bias"}, "some_parameters_own"),
        ({"history"}, "left_out_of_state_dict"),
        ({"offset"}, "single_buffers_left_out"),
        ({"history", "offset"}, "other_buffers_left_out"),
        ({"3.running_mean"}, "some_buffers_own"),
    ],
)
def test_what_an_average_leaves_out_is_told(seed: int, left_out: set[str], code: str) -> None:
    def leave_out(case, parts) -> None:
        models = [case.make_model(rank) for rank in range(case.world_size)]
        for name, kind in (("trained", "named_parameters"), ("statistics", "named_buffers")):
            for rank, model in enumerate(models):
                start, vector = 0, parts[name][rank].clone()
                for tensor_name, one in getattr(model, kind)():
                    if one.is_floating_point() and (one.requires_grad or name == "statistics"):
                        if tensor_name in left_out:
                            vector[start : start + one.numel()] = one.detach().flatten()
                        start += one.numel()
                parts[name][rank] = vector

    assert judge_averaged_parameters(averaging_run(seed, leave_out), seed).code == code


def test_a_mean_on_one_rank_only_is_told() -> None:
    def reduce(case, parts) -> None:
        parts["trained"][1] = parts["before"][1]

    for seed in SEEDS:
        assert judge_averaged_parameters(averaging_run(seed, reduce), seed).code == "some_ranks_parameters"


@pytest.mark.parametrize(
    ("facts", "code"),
    [
        ({"is_replaced": True}, "parameters_replaced"),
        ({"is_trainable": False}, "no_longer_trainable"),
        ({"other_formats": ["3.num_batches_tracked"]}, "buffer_of_another_format"),
    ],
)
def test_what_becomes_of_the_tensors_is_told(facts: dict, code: str) -> None:
    for seed in SEEDS:
        assert judge_averaged_parameters(averaging_run(seed, **facts), seed).code == code


def doubled(case) -> list[list]:
    """The calls of an average that sends each tensor in eight bytes for each number."""
    model = case.make_model(0)
    trained = [one for one in model.parameters() if one.requires_grad]
    return [["all_reduce", 2 * one.nbytes] for one in (*trained, *model.buffers()) if one.is_floating_point()]


def bytes_with(name: str, times: int = 1):
    """The calls of a right average, and those of one more part."""
    return lambda case: [["all_reduce", averaged_bytes(case) + times * vectors_of(case.make_model(0))[name].nbytes]]


@pytest.mark.parametrize(
    ("calls", "code"),
    [
        (lambda case: [], "nothing_sent"),
        (lambda case: [["all_gather", averaged_bytes(case)]], "other_collectives"),
        (bytes_with("frozen"), "frozen_sent"),
        (bytes_with("gradients"), "gradients_sent"),
        (bytes_with("statistics", -1), "statistics_not_sent"),
        (lambda case: [["all_reduce", 2 * averaged_bytes(case)]], "sent_several_times"),
        (lambda case: [["all_reduce", averaged_bytes(case) // 2]], "sent_in_half"),
        (doubled, "sent_in_double"),
        (
            lambda case: [["all_reduce", vectors_of(case.make_model(0))["gradients"].nbytes]],
            "as_much_as_gradients",
        ),
        (lambda case: [["all_reduce", averaged_bytes(case) - 4]], "bytes_missing"),
        (lambda case: [["all_reduce", averaged_bytes(case) + 4]], "bytes_in_excess"),
        (
            lambda case: [["all_reduce", averaged_bytes(case) + 4 * 36 * case.is_tied]],
            "tied_weight_sent_twice",
        ),
    ],
)
def test_bytes_of_an_average_are_told(calls, code: str) -> None:
    for seed in SEEDS:
        assert judge_averaged_bytes(averaging_run(seed, calls=calls), seed).code == code


def by_micro_batches(case, update: int) -> bool:
    """Whether an average is left out by a loop that asks for micro-batches at the end, not for updates."""
    return update % case.every != 0 and case.micro_batches % case.every == 0


@pytest.mark.parametrize("seed", SEEDS)
def test_a_gradient_of_another_loss_is_told(seed: int) -> None:
    run, tensors = epoch_run(seed), {}
    for number, case in enumerate(epoch_cases(seed)):
        for rank in range(case.world_size):
            weights = run.tensors[f"{number}.{rank}.weights.0"]
            tensors[f"{number}.{rank}.gradient.0"] = group_gradient(case, rank, 0, weights, F.l1_loss)
    changed = Observation(run.facts, {**run.tensors, **tensors})
    assert judge_local_sgd_updates(changed, seed).code == "other_loss"


@pytest.mark.parametrize("judge", [judge_averaged_bytes, judge_local_sgd_traffic])
def test_a_barrier_is_told(judge) -> None:
    for seed in SEEDS:
        run = averaging_run(seed, barriers=2) if judge is judge_averaged_bytes else epoch_run(seed, barriers=2)
        assert judge(run, seed).code == "barrier"


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"averages": lambda case: []}, "never_averaged"),
        ({"averages": lambda case: range(case.every, case.updates + 1, case.every)}, "no_final_average"),
        (
            {"averages": lambda case: [one for one in averages_of(case) if not by_micro_batches(case, one)]},
            "final_average_by_micro_batches",
        ),
        ({"averages": lambda case: [case.updates]}, "final_average_only"),
        ({"averages": lambda case: range(1, case.updates + 1)}, "averaged_every_update"),
        (
            {"averages": lambda case: sorted({*range(1, case.updates + 1, case.every), case.updates})},
            "averaged_at_index_zero",
        ),
        (
            {"averages": lambda case: sorted({*range(case.every + 1, case.updates + 1, case.every + 1), case.updates})},
            "averaged_one_too_late",
        ),
        ({"mean": lambda weights: weights.sum(dim=0)}, "weights_summed"),
        ({"mean": lambda weights: weights[0]}, "weights_of_one_rank"),
        ({"mean": lambda weights: weights.sum(dim=0) / 5}, "wrong_number_of_ranks"),
        ({"mean": lambda weights: weights.mean(dim=0) / len(weights)}, "averaged_and_divided"),
        ({"mean": lambda weights: weights.mean(dim=0) * float("nan")}, "gradient_not_finite"),
        ({"gradient": lambda own, rank: own.mean(dim=0)}, "gradients_averaged"),
        ({"gradient": lambda own, rank: own.sum(dim=0)}, "gradients_summed"),
        ({"gradient": lambda own, rank: 3 * own[rank]}, "gradient_not_averaged"),
        ({"gradient": lambda own, rank: own[rank] / len(own)}, "gradient_divided_by_ranks"),
        ({"gradient": lambda own, rank: 0.37 * own[rank]}, "gradient_scaled"),
        ({"mean": lambda weights: 1.1 * weights[0] - 0.3, "is_own_step": [False]}, "another_optimizer"),
        ({"mean": lambda weights: 1.1 * weights[0] - 0.3}, "other_weights"),
        ({"state": average_state}, "state_averaged"),
        ({"are_statistics_averaged": False}, "statistics_not_averaged"),
        ({"rows": lambda case, rank: case.rows_of(0)}, "same_rows_on_every_rank"),
        ({"rows": lambda case, rank: list(range(case.world_size * case.micro_batches))}, "all_rows_on_every_rank"),
    ],
)
def test_a_wrong_epoch_is_told(seed: int, changes: dict, code: str) -> None:
    assert judge_local_sgd_updates(epoch_run(seed, **changes), seed).code == code


def at_the_end(case, is_due: bool) -> list[list]:
    """One more average after the last update, where it is due and none has followed it for its number."""
    is_second = is_due and not case.updates % case.every
    return [["all_reduce", average_bytes(case), case.micro_batches, case.updates]] * is_second


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"averages": lambda case: []}, "nothing_sent"),
        ({"averages": lambda case: range(1, case.updates + 1)}, "more_averages"),
        ({"extra": lambda case: [["all_reduce", 4, 1, 0]]}, "other_bytes"),
        ({"extra": lambda case: [["all_reduce", average_bytes(case), 0, 0]]}, "averaged_at_the_start"),
        ({"extra": lambda case: at_the_end(case, not case.updates % case.every)}, "final_average_twice"),
        (
            {"extra": lambda case: at_the_end(case, case.micro_batches % (case.k * case.every) > 0)},
            "final_average_twice_after_short_group",
        ),
    ],
)
def test_traffic_of_an_epoch_is_told(changes: dict, code: str) -> None:
    for seed in SEEDS:
        assert judge_local_sgd_traffic(epoch_run(seed, **changes), seed).code == code


@pytest.mark.parametrize("judge", [judge_averaged_parameters, judge_local_sgd_updates])
def test_a_report_with_parts_missing_is_refused(judge) -> None:
    right = averaging_run(0) if judge is judge_averaged_parameters else epoch_run(0)
    with pytest.raises(LookupError):
        judge(Observation(right.facts, {}), 0)
    number = len(averaging_cases(0)) if judge is judge_averaged_parameters else len(epoch_cases(0))
    with pytest.raises(ValueError, match="ranks reported"):
        judge(Observation({"settings": [[] for _ in range(number)]}, right.tensors), 0)

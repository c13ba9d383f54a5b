"""What the judges of lesson 17 do with right and invalid evidence, and the numbers behind them."""

from __future__ import annotations

import pytest
import torch
from parallel_runs import block_run, context_run, pipeline_run, whole_attention

from grader.judging.lessons.model_and_pipeline_parallel.blocks import judge_split_share, judge_split_values, split_block
from grader.judging.lessons.model_and_pipeline_parallel.contexts import judge_context_parallel, merged_outputs
from grader.judging.lessons.model_and_pipeline_parallel.pipelines import (
    judge_pipeline_gradients,
    judge_pipeline_schedule,
    order_of,
)
from grader.judging.lessons.model_and_pipeline_parallel.schedules import pipeline_of
from grader.lessons.model_and_pipeline_parallel.blocks import block_cases
from grader.lessons.model_and_pipeline_parallel.contexts import context_cases
from grader.lessons.model_and_pipeline_parallel.pipelines import pipeline_cases
from grader.lessons.model_and_pipeline_parallel.schedules import GPIPE, ONE_BY_ONE, ScheduleCase, schedule_cases
from grader.observation import Observation

SEEDS = (0, 20011)
RUNS = {
    judge_split_values: block_run,
    judge_split_share: block_run,
    judge_pipeline_gradients: pipeline_run,
    judge_pipeline_schedule: pipeline_run,
    judge_context_parallel: context_run,
}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("judge", RUNS)
def test_right_runs_pass(seed: int, judge) -> None:
    assert judge(RUNS[judge](seed), seed).is_passed


@pytest.mark.parametrize("judge", RUNS)
def test_reports_of_another_number_of_ranks_are_refused(judge) -> None:
    with pytest.raises(ValueError, match="ranks reported"):
        judge(Observation({"settings": [[] for _ in range(4)]}), 0)


@pytest.mark.parametrize("judge", [judge_split_values, judge_pipeline_gradients])
def test_missing_tensors_are_refused(judge) -> None:
    with pytest.raises(LookupError):
        judge(Observation(RUNS[judge](0).facts, {}), 0)


@pytest.mark.parametrize(
    ("judge", "name"),
    [
        (judge_split_values, "0.1.input"),
        (judge_pipeline_gradients, "0.1.gradient"),
        (judge_context_parallel, "0.1.output"),
    ],
)
def test_nan_does_not_pass(judge, name: str) -> None:
    run = RUNS[judge](0)
    tensors = {**run.tensors, name: torch.full_like(run.tensors[name], float("nan"))}
    assert not judge(Observation(run.facts, tensors), 0).is_passed


@pytest.mark.parametrize(
    ("judge", "facts", "code"),
    [
        (judge_split_share, {"bytes": 10**6}, "view_of_the_whole"),
        (judge_split_share, {"own": 10**6}, "more_than_a_share_held"),
        (judge_split_share, {"largest": 10**6}, "computed_with_the_whole"),
        (judge_split_share, {"backward": []}, "not_one_all_reduce"),
        (judge_split_share, {"forward": [["all_gather", 8]]}, "other_collectives"),
        (judge_pipeline_schedule, {"most": 6}, "graph_retained"),
        (judge_pipeline_schedule, {"kept": 4}, "finished_micro_batches_kept"),
        (judge_pipeline_schedule, {"calls": ["all_gather"]}, "other_communication"),
        (judge_pipeline_schedule, {"unread": 1}, "message_unread"),
        (judge_pipeline_schedule, {"is_send_first": True}, "sends_wait_for_each_other"),
        (judge_context_parallel, {"largest": 10**6}, "whole_sequence_held"),
        (judge_context_parallel, {"held": 10**6}, "shares_collected"),
        (judge_context_parallel, {"calls": ["all_gather"]}, "collected_by_the_library"),
    ],
)
def test_what_ranks_hold_and_send_is_judged(judge, facts: dict, code: str) -> None:
    assert judge(RUNS[judge](0, **facts), 0).code == code


@pytest.mark.parametrize("seed", SEEDS)
def test_a_split_block_equals_the_whole_one(seed: int) -> None:
    for case in block_cases(seed):
        block, values = case.make_block(), split_block(case)
        hidden, gradient = case.make_tensors()
        output = block(hidden.requires_grad_())
        output.backward(gradient)
        for rank in range(case.world_size):
            assert torch.allclose(values["output"][rank], output, atol=1e-5)
            assert torch.allclose(values["input"][rank], hidden.grad, atol=1e-5)
        assert torch.allclose(torch.cat(values["up.weight"]), block[0].weight.grad, atol=1e-5)
        assert torch.allclose(torch.cat(values["down.weight"], dim=1), block[2].weight.grad, atol=1e-5)


@pytest.mark.parametrize("seed", SEEDS)
def test_merged_shares_equal_attention_over_the_whole_sequence(seed: int) -> None:
    for case in context_cases(seed):
        for one, other in zip(merged_outputs(case), whole_attention(case), strict=True):
            assert torch.allclose(one, other, atol=1e-11)


@pytest.mark.parametrize("seed", SEEDS)
def test_models_are_uneven_and_one_has_fewer_micro_batches_than_ranks(seed: int) -> None:
    cases = pipeline_cases(seed)
    assert {case.world_size for case in cases} == {3, 4}
    assert any(case.micro_batches < case.world_size for case in cases)
    assert all(len(set(case.layers)) > 1 and len(set(case.widths)) == len(case.widths) for case in cases)


@pytest.mark.parametrize("seed", range(20))
def test_predicted_steps_are_those_of_a_simulation(seed: int) -> None:
    for case in schedule_cases(seed):
        for share in (0.0, 0.4, 1.0):
            step, held = simulate(case, share)
            for stage in range(case.stages):
                last = case.head * (stage == case.stages - 1)
                busy = case.micro_batches * (case.forward + case.backward + last)
                arguments = (case.schedule, case.stages, case.micro_batches, case.forward, case.backward, case.head)
                assert pipeline_of(*arguments, stage) == (pytest.approx(1 - busy / step), held[stage])


def simulate(case: ScheduleCase, share: float) -> tuple[float, list[int]]:
    """Run every stage's order as early as its inputs allow; `share` of the head belongs to the forward."""
    micro_batches, ends, clock = case.micro_batches, {}, [0.0] * case.stages
    orders = {
        ONE_BY_ONE: [f"{kind}{number}" for number in range(micro_batches) for kind in "FB"],
        GPIPE: [f"{kind}{number}" for kind in "FB" for number in range(micro_batches)],
    }
    left = [
        list(orders.get(case.schedule) or order_of(stage, case.stages, micro_batches)) for stage in range(case.stages)
    ]
    held = [max(sum(1 if name[0] == "F" else -1 for name in one[: end + 1]) for end in range(len(one))) for one in left]
    while any(left):
        for stage, order in enumerate(left):
            while order:
                neighbour = stage - 1 if order[0][0] == "F" else stage + 1
                start = clock[stage]
                if 0 <= neighbour < case.stages:
                    if (order[0], neighbour) not in ends:
                        break
                    start = max(start, ends[order[0], neighbour])
                seconds, part = (case.forward, share) if order[0][0] == "F" else (case.backward, 1 - share)
                clock[stage] = start + seconds + part * case.head * (stage == case.stages - 1)
                ends[order.pop(0), stage] = clock[stage]
    return max(clock), held

"""What the judges of lesson 16 do with right, invalid and borderline evidence, and the numbers behind them."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from local_sgd_runs import averaging_run, epoch_run, method_run, train

from grader.judging.lessons.local_sgd.averaging import judge_averaged_bytes, judge_averaged_parameters
from grader.judging.lessons.local_sgd.epochs import judge_local_sgd_updates
from grader.judging.lessons.local_sgd.evidence import Epoch, evidence_of
from grader.judging.lessons.local_sgd.methods import judge_local_sgd_method
from grader.judging.lessons.local_sgd.movements import PLACES, Places, judge_movements, judge_statistics
from grader.judging.lessons.local_sgd.synchronisations import synchronise
from grader.judging.lessons.local_sgd.traffic import judge_local_sgd_traffic
from grader.lessons.local_sgd.epochs import ADAMW, MOMENTUM, SGD, EpochCase, epoch_cases
from grader.observation import Observation

SEEDS = (0, 20011)
RUNS = {
    judge_averaged_parameters: averaging_run,
    judge_averaged_bytes: averaging_run,
    judge_local_sgd_updates: epoch_run,
    judge_local_sgd_traffic: epoch_run,
    judge_local_sgd_method: method_run,
}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("judge", RUNS)
def test_right_runs_pass(seed: int, judge) -> None:
    assert judge(RUNS[judge](seed), seed).is_passed


@pytest.mark.parametrize("judge", RUNS)
def test_reports_of_another_number_of_ranks_are_refused(judge) -> None:
    with pytest.raises(ValueError, match="ranks reported"):
        judge(Observation({"settings": [[] for _ in range(16)]}), 0)


@pytest.mark.parametrize("judge", [judge_averaged_parameters, judge_local_sgd_updates])
def test_missing_tensors_are_refused(judge) -> None:
    with pytest.raises(LookupError):
        judge(Observation(RUNS[judge](0).facts, {}), 0)


@pytest.mark.parametrize(
    ("judge", "name", "code"),
    [
        (judge_averaged_parameters, "0.1.trained", "some_ranks_only"),
        (judge_local_sgd_updates, "0.1.gradient.0", "gradient_not_finite"),
    ],
)
def test_nan_does_not_pass(judge, name: str, code: str) -> None:
    run = RUNS[judge](0)
    tensors = {**run.tensors, name: torch.full_like(run.tensors[name], float("nan"))}
    assert judge(Observation(run.facts, tensors), 0).code == code


@pytest.mark.parametrize("judge", [judge_averaged_bytes, judge_local_sgd_traffic])
def test_a_barrier_is_named(judge) -> None:
    assert judge(RUNS[judge](0, barriers=2), 0).code == "barrier"


@pytest.mark.parametrize("every", [1, 2])
@pytest.mark.parametrize("optimizer", [SGD, MOMENTUM, ADAMW])
def test_predicted_equality_holds_in_simulated_ranks(optimizer: str, every: int) -> None:
    case = EpochCase(3, 7, 2, every, optimizer, False, 4, 5, 1)
    (start, *_, local), _ = train(case)
    (*_, together), _ = train(replace(case, every=1), is_local=False)
    share = float(torch.linalg.vector_norm(local[0] - together[0]) / torch.linalg.vector_norm(together[0] - start[0]))
    is_equal = synchronise(case.micro_batches, case.k, every, optimizer)["is_equal"]
    assert share < 1e-5 if is_equal else share > 1e-3


def first_epoch(*, is_normalised: bool = False) -> Epoch:
    """Return a right epoch of the first setting that has running statistics, or has none."""
    run = epoch_run(0)
    number, case = next(pair for pair in enumerate(epoch_cases(0)) if pair[1].is_normalised is is_normalised)
    return Epoch(case, evidence_of(run, number, case.world_size))


def test_weights_that_change_before_the_first_update_are_named() -> None:
    epoch = first_epoch()
    for evidence in epoch.ranks:
        evidence.tensors["weights.0"].mul_(1.01)
    assert judge_movements(epoch).code == "other_start"


def test_an_average_on_one_rank_only_is_named() -> None:
    epoch = first_epoch()
    after = f"weights.{epoch.averages[0]}"
    epoch.ranks[0].tensors[after].mul_(1.01)
    assert judge_movements(epoch).code == "averaged_on_some_ranks"


def test_averages_after_other_updates_are_named() -> None:
    epoch = first_epoch()
    places = Places(epoch, [update + 1 for update in range(epoch.updates) if update + 1 not in epoch.averages])
    assert PLACES.judge(places, "averages", "others").code == "averages_misplaced"


def test_buffers_that_are_written_to_are_named() -> None:
    epoch = first_epoch(is_normalised=True)
    epoch.ranks[0].facts["counts"][0] += 1
    assert judge_statistics(epoch).code == "counter_changed"
    epoch.ranks[0].tensors["statistics"].add_(1)
    assert judge_statistics(epoch).code == "other_statistics"


def test_a_buffer_of_another_format_is_named() -> None:
    run = averaging_run(0, other_formats=["counter"])
    assert judge_averaged_parameters(run, 0).code == "buffer_of_another_format"


@pytest.mark.parametrize(("fact", "value", "code"), [("is_copy", True, "trained_a_copy"), ("steps", 99, "stepped_too")])
def test_a_method_that_is_not_only_watched_is_named(fact: str, value: int, code: str) -> None:
    run = method_run(0)
    run.facts["settings"][0][0][fact] = value
    assert judge_local_sgd_method(run, 0).code == code

"""The cases and references of lesson 18 hold what its checks rely on."""

from __future__ import annotations

import pytest

from grader.judging.lessons.sharding.forms import judge_sharded_trainer
from grader.judging.lessons.sharding.jobs import bytes_by_stage, judge_sharding_bytes
from grader.judging.lessons.sharding.steps import judge_sharded_state
from grader.judging.lessons.sharding.units import judge_sharded_peak
from grader.lessons.sharding.forms import sharded_forms_cases
from grader.lessons.sharding.jobs import sharding_jobs
from grader.lessons.sharding.steps import step_cases
from grader.lessons.sharding.units import unit_cases
from grader.observation import Observation

SEEDS = (0, 20011)


@pytest.mark.parametrize(("stage", "gigabytes", "passes"), [(0, 120, 2), (1, 31.4, 2), (2, 16.6, 2), (3, 1.9, 3)])
def test_the_figures_of_the_paper(stage: int, gigabytes: float, passes: int) -> None:
    found = bytes_by_stage(7_500_000_000, 64, stage, 12, 1)
    assert round(found["held"] / 1e9, 1) == gigabytes
    assert found["sent"] == passes * 2 * 7_500_000_000 * 63 / 64


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_divides_by_the_ranks(seed: int) -> None:
    for case in step_cases(seed):
        sizes = [parameter.numel() for parameter in case.make_model().parameters() if parameter.requires_grad]
        assert sum(sizes) % case.world_size
    for case in unit_cases(seed):
        assert case.total % case.world_size


@pytest.mark.parametrize("seed", SEEDS)
def test_the_last_job_has_no_whole_shares_and_all_stages_are_asked(seed: int) -> None:
    jobs = sharding_jobs(seed)
    assert [job.parameters % job.ranks > 0 for job in jobs] == [False] * 10 + [True]
    assert {(job.stage, job.k > 1) for job in jobs} == {(stage, many) for stage in range(4) for many in (True, False)}


def test_a_right_prediction_passes() -> None:
    jobs = sharding_jobs(7)
    found = [bytes_by_stage(job.parameters, job.ranks, job.stage, job.state_bytes, job.k) for job in jobs]
    assert judge_sharding_bytes(Observation({"predicted": [[one["held"], one["sent"]] for one in found]}), 7).is_passed


def test_forms_free_blocks_in_one_setting_and_keep_them_in_the_other() -> None:
    assert [case.reshard for case in sharded_forms_cases(3)] == [True, False]


@pytest.mark.parametrize("judge", [judge_sharded_state, judge_sharded_peak, judge_sharded_trainer])
def test_reports_of_another_number_of_ranks_are_refused(judge) -> None:
    with pytest.raises((ValueError, LookupError)):
        judge(Observation({"settings": [[] for _ in range(3)]}), 0)

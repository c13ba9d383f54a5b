import pytest

from grader.judging.lessons.learning_rate_schedules.epochs import train_epoch
from grader.judging.lessons.learning_rate_schedules.noise import noise_scale
from grader.judging.lessons.learning_rate_schedules.scheduled import train_scheduled
from grader.lessons.learning_rate_schedules.epochs import epoch_cases, run_epoch
from grader.lessons.learning_rate_schedules.noise import NoiseCase, noise_cases
from grader.lessons.learning_rate_schedules.plans import plan_cases
from grader.lessons.learning_rate_schedules.rates import run_cases
from grader.lessons.learning_rate_schedules.scheduled import run_scheduled, scheduled_cases


@pytest.mark.parametrize("seed", range(30))
def test_runs_have_whole_thirds_and_fifths(seed):
    for case in run_cases(seed):
        assert case.updates % 5 == 0
        assert (case.updates - case.warm_up) % 3 == 0
        assert 1 <= case.warm_up < case.updates - case.updates // 5


@pytest.mark.parametrize("seed", range(30))
def test_interruptions_fall_into_every_phase(seed):
    phases = []
    for case in plan_cases(seed)[1:]:
        warm_up, stable, _ = case.plan
        assert 0 < case.done < sum(case.plan)
        phases.append((case.done >= warm_up) + (case.done > warm_up + stable))
    assert phases == [0, 1, 2, 2]


@pytest.mark.parametrize("seed", range(8))
def test_some_gradients_are_clipped_and_some_are_not(seed):
    cases = scheduled_cases(seed)
    assert cases[0].micro_batches % cases[0].k, "a short last group"
    assert run_scheduled(train_scheduled, cases[0])["norms"][-1] > cases[0].max_norm, "which is clipped"
    for case in cases:
        norms = run_scheduled(train_scheduled, case)["norms"]
        assert min(norms) < case.max_norm < max(norms)


@pytest.mark.parametrize("seed", range(3))
def test_one_warm_up_is_a_whole_number_of_updates_and_the_gradients_are_clipped(seed):
    cases = epoch_cases(seed)
    assert [(case.warm_up * case.updates) % 1 > 0 for case in cases] == [False, True]
    for case in cases:
        clipped = run_epoch(train_epoch, case)[0]["weights"]
        unclipped = run_epoch(lambda *run: train_epoch(*run[:-1], 1e9), case)[0]["weights"]
        assert (clipped - unclipped).norm() > 1e-4 * clipped.norm()


@pytest.mark.parametrize("seed", range(5))
def test_the_noise_scale_is_found_again_from_many_micro_batches(seed):
    case = NoiseCase(rows=8, micro_batches=400, signal=1.0, noise=0.5, seed=seed)
    assert noise_scale(case.draw(), case.rows) == pytest.approx(400 * case.noise**2 / case.signal**2, rel=0.1)
    assert all(len(case.draw()) > 2 for case in noise_cases(seed))

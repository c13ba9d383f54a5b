import time

import pytest

from grader.meters.step_time import StepTime, StepTimes, measure_step_time


def test_steps_run_in_turns_after_the_warm_up():
    calls = []
    times = measure_step_time(lambda: calls.append("a"), lambda: calls.append("b"), run_count=3, warm_up_count=1)
    assert calls == ["a", "b"] * 4
    assert [len(step.run_seconds) for step in times.steps] == [3, 3]


def test_a_longer_step_has_the_larger_ratio():
    def short():
        time.sleep(0.002)

    def long():
        time.sleep(0.02)

    times = measure_step_time(short, long, run_count=5)
    assert times.ratios[0] == 1.0
    assert times.ratios[1] > 2
    assert times.steps[1].median_seconds >= 0.02
    assert "long: " in repr(times)


def test_median_and_spread_are_those_of_the_runs():
    step = StepTime("step", (1.0, 2.0, 3.0, 4.0, 100.0))
    assert (step.median_seconds, step.interquartile_range_seconds) == (3.0, 2.0)


def test_wide_spread_is_said():
    calm, wide = StepTime("calm", (1.0, 1.01, 1.02)), StepTime("wide", (1.0, 2.0, 3.0))
    assert "WARNING" not in repr(StepTimes((calm,), "CPU", 1, "2.13.0"))
    assert "WARNING: the middle half spreads over 50% of the median" in repr(StepTimes((wide,), "CPU", 1, "2.13.0"))


def test_no_step_and_no_run_are_refused():
    with pytest.raises(ValueError, match="at least one step"):
        measure_step_time()
    with pytest.raises(ValueError, match="at least one step and one run"):
        measure_step_time(lambda: None, run_count=0)

"""A step that raises within a meter leaves the meter clean: the next measurement is that of a fresh process."""

import functools
import gc

import pytest
import torch
from torch import nn
from torch.optim import optimizer as optimizer_hooks
from torch.utils._python_dispatch import _get_current_dispatch_mode

from grader.meters.forecast import forecast_peak_memory
from grader.meters.measurement import measure_peak_memory
from grader.meters.saved_tensors import measure_saved_tensors

from . import models

PLACES = ("forward", "backward", "optimizer", "after")
ERRORS = (RuntimeError, AssertionError, KeyboardInterrupt)


class Failing:
    """A chain's update that raises at one place of one call, if asked to."""

    def __init__(self, place=None, failing_call=2, error=RuntimeError):
        self.job = models.chain("plain")
        self.place, self.failing_call, self.error = place, failing_call, error
        self.calls = 0

    def prepare(self):
        return {"step": self.step, "model": self.job.model, "optimizer": self.job.optimizer, "inputs": self.job.batch}

    def fail_at(self, place):
        if place == self.place and self.calls == self.failing_call:
            raise self.error("a mistake of the learner's")

    def step(self):
        self.calls += 1
        output = self.job.model(self.job.batch)
        self.fail_at("forward")
        output.register_hook(lambda _: self.fail_at("backward"))
        output.square().mean().backward()
        self.job.optimizer.step(lambda: self.fail_at("optimizer"))
        self.job.optimizer.zero_grad()
        self.fail_at("after")


@functools.cache
def clean_timeline():
    return measure_peak_memory(**Failing().prepare()).timeline


def assert_nothing_is_left(model):
    assert _get_current_dispatch_mode() is None
    assert not any(parameter._post_accumulate_grad_hooks for parameter in model.parameters())
    assert not optimizer_hooks._global_optimizer_pre_hooks
    assert not optimizer_hooks._global_optimizer_post_hooks
    assert "resize_" not in vars(torch.UntypedStorage)
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0
    assert torch.is_grad_enabled()
    assert type(torch.ones(1)) is torch.Tensor


@pytest.mark.parametrize("failing_call", [1, 2])
@pytest.mark.parametrize("place", PLACES)
def test_the_next_measurement_is_that_of_a_fresh_process(place, failing_call):
    clean_timeline()  # before the error
    failing = Failing(place, failing_call)
    with pytest.raises(RuntimeError, match="a mistake of the learner's"):
        measure_peak_memory(**failing.prepare())
    assert_nothing_is_left(failing.job.model)
    assert measure_peak_memory(**Failing().prepare()).timeline == clean_timeline()


@pytest.mark.parametrize("error", ERRORS)
def test_a_repaired_step_on_the_same_model_has_its_own_figure_while_the_error_is_kept(error):
    failing = Failing("backward", error=error)
    with pytest.raises(error) as kept:  # as a notebook keeps the last error, and with it the step's tensors
        measure_peak_memory(**failing.prepare())
    failing.place = None
    assert measure_peak_memory(**failing.prepare()).timeline == clean_timeline()
    assert kept.tb


@pytest.mark.parametrize("operators", ["cpu", "cuda"])
@pytest.mark.parametrize("place", PLACES)
def test_the_next_forecast_is_that_of_a_fresh_process(place, operators):
    before = forecast_peak_memory(lambda: Failing().prepare(), operators=operators)
    failing = []

    def prepare():
        failing.append(Failing(place))
        return failing[0].prepare()

    with pytest.raises(RuntimeError, match="a mistake of the learner's"):
        forecast_peak_memory(prepare, operators=operators)
    assert_nothing_is_left(failing[0].job.model)
    assert forecast_peak_memory(lambda: Failing().prepare(), operators=operators).timeline == before.timeline
    assert measure_peak_memory(**Failing().prepare()).timeline == clean_timeline()


def test_an_error_while_a_forecast_is_prepared_leaves_nothing_behind():
    def prepare():
        Failing().job.model.missing  # noqa: B018

    with pytest.raises(AttributeError, match="missing"):
        forecast_peak_memory(prepare)
    assert_nothing_is_left(nn.Linear(1, 1))
    assert measure_peak_memory(**Failing().prepare()).timeline == clean_timeline()


def test_saved_tensors_are_not_watched_after_an_error():
    layer, batch = nn.Linear(32, 64), torch.randn(16, 32)

    def forward():
        layer(batch)
        raise RuntimeError("a mistake of the learner's")

    before = measure_saved_tensors(lambda: layer(batch))
    with pytest.raises(RuntimeError, match="a mistake of the learner's"):
        measure_saved_tensors(forward)
    assert torch._C._autograd._top_saved_tensors_default_hooks(True) is None
    assert measure_saved_tensors(lambda: layer(batch)) == before


def test_an_error_of_one_meter_within_another_leaves_both_clean():
    failing = Failing("forward")
    with pytest.raises(RuntimeError, match="a mistake of the learner's"):
        measure_saved_tensors(lambda: measure_peak_memory(**failing.prepare()))
    assert_nothing_is_left(failing.job.model)
    assert torch._C._autograd._top_saved_tensors_default_hooks(True) is None
    assert measure_peak_memory(**Failing().prepare()).timeline == clean_timeline()

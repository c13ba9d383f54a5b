import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn
from torch.optim import optimizer as optimizer_module
from torch.utils._python_dispatch import _get_current_dispatch_mode

from grader.meters.forecast import forecast_peak_memory
from grader.meters.measurement import measure_peak_memory

from .models import JOBS, MODES, Job

WIDTH = 256


def arguments_of(job: Job) -> dict[str, object]:
    return {"step": job.step, "model": job.model, "optimizer": job.optimizer, "inputs": job.batch}


def prepare_update(make_optimizer=torch.optim.SGD, loss_of=lambda model, batch: model(batch).square().mean()):
    """Return a `prepare` for one update of a small network by any optimizer and any loss."""

    def prepare():
        model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Dropout(0.1), nn.Linear(WIDTH, WIDTH))
        optimizer = make_optimizer(model.parameters())
        batch = torch.randn(64, WIDTH)

        def step():
            loss_of(model, batch).backward()
            optimizer.step()
            optimizer.zero_grad()

        return {"step": step, "model": model, "optimizer": optimizer, "inputs": batch}

    return prepare


def measured(prepare):
    job = prepare()
    return measure_peak_memory(job.pop("step"), **job)


def assert_equal_to_the_byte(forecast, measurement):
    def bytes_of(result):
        return replace(result, timeline=(), device="", operators="")

    assert bytes_of(forecast) == bytes_of(measurement)
    assert len(forecast.timeline) == len(measurement.timeline)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", JOBS)
def test_forecast_with_cpu_operators_is_the_measurement(name, mode):
    measurement = measured(lambda: arguments_of(JOBS[name](mode)))
    assert_equal_to_the_byte(forecast_peak_memory(lambda: arguments_of(JOBS[name](mode)), operators="cpu"), measurement)


def transformers_adafactor(parameters):
    from transformers.optimization import Adafactor

    return Adafactor(parameters, lr=1e-3, scale_parameter=False, relative_step=False)


def adam_8bit(parameters, name="Adam8bit"):
    import bitsandbytes

    return getattr(bitsandbytes.optim, name)(parameters)


OPTIMIZERS = {
    "sgd_with_momentum": lambda parameters: torch.optim.SGD(parameters, momentum=0.9),
    "adamw": torch.optim.AdamW,
    "adamw_foreach": lambda parameters: torch.optim.AdamW(parameters, foreach=True),
    "adamw_fused": lambda parameters: torch.optim.AdamW(parameters, fused=True),
    "torch_adafactor": torch.optim.Adafactor,
    "transformers_adafactor": transformers_adafactor,
    "adam_8bit": adam_8bit,
    "adamw_8bit": lambda parameters: adam_8bit(parameters, "AdamW8bit"),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_forecast_of_every_optimizer_is_the_measurement(name):
    prepare = prepare_update(OPTIMIZERS[name])
    assert_equal_to_the_byte(forecast_peak_memory(prepare, operators="cpu"), measured(prepare))


def test_forecast_of_a_grad_scaler_is_the_measurement():
    def prepare():
        job = prepare_update(lambda parameters: torch.optim.AdamW(parameters, foreach=False))()
        scaler = torch.amp.GradScaler("cpu", init_scale=64.0)

        def step():
            with torch.autocast("cpu", torch.float16):
                loss = job["model"](job["inputs"]).square().mean()
            scaler.scale(loss).backward()
            scaler.step(job["optimizer"])
            scaler.update()
            job["optimizer"].zero_grad()

        return {**job, "step": step}

    assert_equal_to_the_byte(forecast_peak_memory(prepare, operators="cpu"), measured(prepare))


def test_gradient_norm_and_logged_loss_can_be_forecast():
    def loss_of(model, batch):
        loss = model(batch).square().mean()
        assert loss.item() == 0.0
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        return loss

    assert forecast_peak_memory(prepare_update(loss_of=loss_of)).peak_bytes > 0


def test_a_model_that_no_memory_holds_can_be_forecast():
    def prepare():
        model = nn.Sequential(*(nn.Linear(2**16, 2**16, bias=False) for _ in range(4)))
        batch = torch.randn(1, 2**16)
        return {"step": lambda: model(batch).sum().backward(), "model": model, "inputs": batch}

    forecast = forecast_peak_memory(prepare)
    assert forecast.parameter_bytes == forecast.gradient_bytes == 4 * 2**34


def test_forecast_says_whose_operators_ran_and_what_is_left_out():
    on_cpu, on_cuda = (forecast_peak_memory(prepare_update(), operators=name) for name in ("cpu", "cuda"))
    assert (on_cpu.operators, on_cuda.operators) == ("cpu", "cuda (emulated)")
    assert "forecast with cpu operators" in repr(on_cpu)
    for said in ("forecast with cuda (emulated) operators", "confirms", "CUDA context", "cuBLAS", "fragmentation"):
        assert said in repr(on_cuda)


OUTSIDE = torch.ones(64, WIDTH)


@pytest.mark.parametrize(
    ("loss_of", "said"),
    [
        (lambda model, batch: model(batch)[batch > 0].sum(), "aten.nonzero.default"),
        (lambda model, batch: model(batch).sum() * torch.equal(batch, batch), "aten.equal.default"),
        (lambda model, batch: model(batch).sum() * batch.unique().numel(), "aten._unique2.default"),
        (lambda model, batch: model(batch).sum() * float(batch.detach().numpy().sum()), r"\.numpy\(\)"),
        (lambda model, batch: (model(batch) * OUTSIDE).sum(), "outside prepare goes into aten.mul.Tensor"),
    ],
)
def test_step_that_needs_values_is_refused_by_the_operators_name(loss_of, said):
    with pytest.raises(ValueError, match=said):
        forecast_peak_memory(prepare_update(loss_of=loss_of))


def test_step_under_cuda_autocast_is_refused():
    def loss_of(model, batch):
        with torch.autocast("cuda", torch.float16):
            return model(batch).sum()

    with pytest.raises(ValueError, match=r"torch.autocast\('cpu'"):
        forecast_peak_memory(prepare_update(loss_of=loss_of))


def compiled_job():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "`torch.jit", DeprecationWarning)  # torch.compile's own imports
        return {"step": torch.compile(lambda: None)}


@pytest.mark.parametrize(
    ("prepare", "operators", "said"),
    [
        (prepare_update(), "tpu", "'cuda' or 'cpu', not 'tpu'"),
        ({}, "cpu", "function of no arguments, not dict"),
        (lambda: None, "cpu", "must return a dict"),
        (dict, "cpu", "key 'step'"),
        (lambda: {"step": print, "loader": 1}, "cpu", "unknown keys"),
        (lambda: {"step": print, "inputs": OUTSIDE}, "cpu", "inside prepare"),
        (lambda: {"step": print, "model": nn.Linear(2, 2, device="meta")}, "cpu", "is on meta"),
        (compiled_job, "cpu", "compiled"),
        (lambda: forecast_peak_memory(prepare_update()), "cpu", "within a forecast"),
    ],
)
def test_what_cannot_be_forecast_is_refused_with_a_remedy(prepare, operators, said):
    with pytest.raises(ValueError, match=said):
        forecast_peak_memory(prepare, operators=operators)


@pytest.mark.parametrize("move", [{"device": "cpu"}, {"device": torch.device("cpu")}])
def test_a_module_that_is_moved_to_the_cpu_is_forecast(move):
    def prepare():
        model = nn.Linear(3, 5).to(**move)
        return {"step": lambda: None, "model": model}

    assert forecast_peak_memory(prepare).peak_bytes == 4 * (15 + 5)


def test_a_module_that_changes_its_format_is_refused():
    with pytest.raises(ValueError, match="drop the conversion"):
        forecast_peak_memory(lambda: {"step": lambda: None, "model": nn.Linear(3, 5).to(torch.bfloat16)})


def test_model_built_outside_is_refused():
    model = nn.Linear(3, 5)
    with pytest.raises(ValueError, match=r"shape \[5, 3\] was not built inside prepare"):
        forecast_peak_memory(lambda: {"step": lambda: None, "model": model})


def test_inputs_from_numpy_are_forecast():
    def prepare():
        return {"step": lambda: None, "inputs": torch.from_numpy(np.ones(3))}

    assert forecast_peak_memory(prepare).peak_bytes == 24


@pytest.mark.parametrize("operators", ["cpu", "cuda"])
def test_error_in_the_step_passes_and_leaves_nothing_behind(operators):
    def loss_of(model, batch):
        raise KeyError("a mistake of the learner's")

    before = optimizer_module._foreach_supported_types
    with pytest.raises(KeyError, match="a mistake of the learner's"):
        forecast_peak_memory(prepare_update(loss_of=loss_of), operators=operators)
    assert _get_current_dispatch_mode() is None
    assert optimizer_module._foreach_supported_types is before
    assert type(torch.ones(1)) is torch.Tensor

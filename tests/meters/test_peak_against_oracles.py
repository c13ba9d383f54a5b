import pytest
import torch

from grader.meters.measurement import measure_peak_memory
from grader.meters.peak import PeakMemory

from .models import JOBS, MODES, Job, build_distilbert, hugging_face
from .oracles import profiled_peak_above_entry, tracked_peak

KIB = 2**10


def measure(job: Job) -> PeakMemory:
    return measure_peak_memory(job.step, model=job.model, optimizer=job.optimizer, inputs=job.batch)


@pytest.fixture(scope="module", params=[f"{name}-{mode}" for name in JOBS for mode in MODES])
def measured_job(request):
    name, mode = request.param.split("-")
    job = JOBS[name](mode)
    return job, measure(job)


def test_peak_above_entry_is_the_allocators(measured_job):
    job, measured = measured_job
    assert abs(measured.above_entry_bytes - profiled_peak_above_entry(job)) <= KIB


def test_peak_is_the_one_of_mem_tracker(measured_job, monkeypatch):
    job, measured = measured_job
    tracked = tracked_peak(job, monkeypatch)
    assert measured.peak_bytes == tracked["Total"]
    assert measured.parameter_bytes == tracked["Parameter"]
    assert measured.gradient_bytes == tracked["Gradient"]


def test_kinds_at_a_peak_in_backward_are_those_of_mem_tracker(monkeypatch):
    job = JOBS["chain"]("plain")
    measured = measure(job)
    tracked = tracked_peak(job, monkeypatch)
    assert measured.peak_sample.phase == "backward"
    assert measured.activation_bytes == tracked["Activation"]
    assert measured.optimizer_state_bytes == tracked["Optstate"]
    assert measured.other_bytes == tracked["Temp"] + tracked["Other"]


@pytest.mark.slow
def test_full_size_distilbert_equals_both_oracles(monkeypatch):
    job = hugging_face(build_distilbert, "plain", batch=(2, 32))
    measured = measure(job)
    assert abs(measured.above_entry_bytes - profiled_peak_above_entry(job)) <= KIB
    assert measured.peak_bytes == tracked_peak(job, monkeypatch)["Total"]
    assert measured.parameter_bytes == 4 * 65_783_042


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("mode", MODES)
def test_cuda_peak_is_the_allocators(mode):
    job = JOBS["encoder"]("plain" if mode == "autocast" else mode)
    job.model.cuda()
    job = Job(job.model, job.loss_of, job.batch.cuda(), job.mode)
    measured = measure(job)
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    entry_bytes = torch.cuda.memory_stats()["requested_bytes.all.current"]
    job.step()
    torch.cuda.synchronize()
    assert measured.above_entry_bytes == torch.cuda.memory_stats()["requested_bytes.all.peak"] - entry_bytes
    assert measured.other_bytes >= 0

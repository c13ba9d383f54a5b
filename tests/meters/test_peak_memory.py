import functools
import gc

import pytest
import torch
from torch import nn
from torch.optim import optimizer as optimizer_hooks
from torch.utils._python_dispatch import _get_current_dispatch_mode

from grader.meters.measurement import measure_peak_memory

from . import models

MIB = 2**20


@functools.cache
def measure_survey_chain(mode="plain", batch=512, micro_batches=1, set_to_none=True):
    """Measure 16 blocks; the output is held until the next one, as in a loop that has a variable for it."""
    job = models.chain(mode, blocks=16, width=256, hidden=1024, batch=batch)

    def step():
        if not set_to_none:
            job.optimizer.zero_grad(set_to_none=False)
        for micro_batch in job.batch.chunk(micro_batches):
            output = job.model(micro_batch)
            output.sum().backward()
        job.optimizer.step()
        if set_to_none:
            job.optimizer.zero_grad()

    return measure_peak_memory(step, model=job.model, optimizer=job.optimizer, inputs=job.batch)


@pytest.mark.parametrize(
    ("settings", "peak_mib"),
    [
        ({}, 171.74),
        ({"batch": 32}, 130.35),
        ({"set_to_none": False}, 203.81),
        ({"mode": "checkpointing"}, 134.81),
        ({"micro_batches": 4}, 148.31),
        ({"micro_batches": 16}, 134.44),
    ],
)
def test_peak_of_the_chain_is_the_one_found_by_survey(settings, peak_mib):
    assert measure_survey_chain(**settings).peak_bytes / MIB == pytest.approx(peak_mib, abs=0.06)


def test_split_of_the_chain_at_its_peak():
    measured = measure_survey_chain()
    kinds = [measured.parameter_bytes, measured.gradient_bytes, measured.optimizer_state_bytes]
    kinds += [measured.activation_bytes, measured.other_bytes]
    assert sum(kinds) == measured.peak_bytes
    assert [round(kind / MIB, 2) for kind in kinds] == [32.08, 0.0, 64.16, 72.0, 3.5]  # 3.0 temporary, 0.5 input


def test_peak_repeats_to_the_byte():
    job = models.tied_weights_and_dropout("checkpointing")
    measure = [measure_peak_memory(job.step, model=job.model, optimizer=job.optimizer) for _ in range(2)]
    assert measure[0] == measure[1]


def test_timeline_starts_at_entry_ends_there_and_holds_the_peak():
    job = models.chain("plain")
    measured = measure_peak_memory(job.step, model=job.model, optimizer=job.optimizer, inputs=job.batch)
    held = [sample.held_bytes for sample in measured.timeline]
    assert held[0] == held[-1] == measured.entry_bytes
    assert max(held) == measured.peak_bytes
    assert [sample.phase for sample in measured.timeline].index("backward") > 0
    assert {sample.phase for sample in measured.timeline} == {"forward", "backward", "optimizer"}
    assert any(sample.operator == "aten.gelu.default" for sample in measured.timeline)


def test_gradients_are_gradients_once_they_are_in_place():
    model = nn.Linear(100, 100, bias=False)

    def step():
        model.weight.grad = None
        model(torch.ones(1, 100)).sum().backward()

    last = measure_peak_memory(step, model=model).timeline[-1]
    assert (last.parameter_bytes, last.gradient_bytes) == (40_000, 40_000)


def test_a_view_and_an_in_place_change_hold_nothing_new():
    held = torch.zeros(1000)
    measured = measure_peak_memory(lambda: held.view(10, 100).add_(1).t()[0:5])
    assert measured.peak_bytes == 0


def test_output_is_counted_while_its_input_lives():
    def step():
        first = torch.zeros(1000)
        second = first.clone()
        del first
        second.clone()

    assert measure_peak_memory(step).peak_bytes == 8000


def test_a_tensor_made_of_numbers_is_counted():
    assert measure_peak_memory(lambda: torch.tensor([1.0] * 500)).peak_bytes == 2000


def test_a_resized_storage_is_counted_with_its_new_size():
    def step():
        tensor = torch.empty(100)
        tensor.resize_(300)
        tensor.untyped_storage().resize_(8000)

    measured = measure_peak_memory(step)
    assert [sample.held_bytes for sample in measured.timeline] == [0, 400, 1200, 8000, 0]


def test_sparse_gradients_are_counted_by_their_parts():
    embedding = nn.Embedding(50, 10, sparse=True)
    tokens = torch.tensor([1, 2, 3])

    def step():
        embedding.weight.grad = None
        embedding(tokens).sum().backward()

    last = measure_peak_memory(step, model=embedding, inputs=tokens).timeline[-1]
    assert last.gradient_bytes == 3 * 8 + 3 * 10 * 4


def test_inputs_are_found_in_nested_containers_and_counted_once():
    batch = torch.zeros(100)
    inputs = {"batches": [(batch, batch.view(10, 10))], "labels": {"first": torch.zeros(10, dtype=torch.int64)}}
    assert measure_peak_memory(lambda: None, inputs=inputs).peak_bytes == 480


def test_what_the_last_call_left_behind_is_held_at_entry():
    kept = {}

    def step():
        kept["output"] = torch.zeros(1000)

    measured = measure_peak_memory(step)
    assert (measured.peak_bytes, measured.above_entry_bytes) == (8000, 4000)


def test_a_growing_list_is_refused_with_its_growth():
    losses = []
    with pytest.raises(ValueError, match=r"4,000 bytes more memory.*list"):
        measure_peak_memory(lambda: losses.append(torch.zeros(1000)))


def test_reference_cycles_are_no_growth():
    def step():
        cycle = [torch.zeros(1000)]
        cycle.append(cycle)

    assert measure_peak_memory(step).above_entry_bytes == 4000


@pytest.mark.parametrize("failing_call", [1, 2])
def test_an_error_in_the_step_leaves_nothing_behind(failing_call):
    job = models.chain("plain")
    calls = []

    def step():
        calls.append(1)
        job.step()
        if len(calls) == failing_call:
            raise RuntimeError("out of luck")

    get_rng_state = torch.get_rng_state
    with pytest.raises(RuntimeError, match="out of luck"):
        measure_peak_memory(step, model=job.model, optimizer=job.optimizer)
    assert _get_current_dispatch_mode() is None
    assert not any(parameter._post_accumulate_grad_hooks for parameter in job.model.parameters())
    assert not optimizer_hooks._global_optimizer_pre_hooks
    assert not optimizer_hooks._global_optimizer_post_hooks
    assert "resize_" not in vars(torch.UntypedStorage)
    assert torch.get_rng_state is get_rng_state
    assert gc.isenabled()


def test_the_error_of_a_step_within_the_optimizer_is_the_learners():
    model = nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        optimizer.step(closure=lambda: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        measure_peak_memory(step, model=model, optimizer=optimizer)
    assert not optimizer_hooks._global_optimizer_pre_hooks


@torch.compile(backend="eager")  # inductor is not needed: nothing runs
def compiled_global(tensor):
    return tensor + 1


def test_compiled_functions_are_refused_on_cpu():
    model = nn.Linear(2, 2)
    compiled = torch.compile(model, backend="eager")
    compiled_in_place = nn.Sequential(nn.Linear(2, 2))
    compiled_in_place[0].compile(backend="eager")
    batch = torch.zeros(1, 2)
    for step, named in [
        (lambda: None, compiled),
        (lambda: None, compiled_in_place),
        (lambda: compiled(batch), None),
        (lambda: compiled_global(batch), None),
        (torch.compile(lambda: batch + 1, backend="eager"), None),
    ]:
        with pytest.raises(ValueError, match=r"torch\.compile"):
            measure_peak_memory(step, model=named)


def test_a_model_elsewhere_and_an_unknown_device_are_refused():
    with pytest.raises(ValueError, match="cuda, but its model and inputs are on cpu"):
        measure_peak_memory(lambda: None, model=nn.Linear(2, 2), device="cuda")
    with pytest.raises(ValueError, match="not on meta"):
        measure_peak_memory(lambda: None, device="meta")
    with pytest.raises(TypeError, match="function of no arguments, not Tensor"):
        measure_peak_memory(torch.zeros(1))


def test_repr_says_units_device_and_version():
    job = models.chain("plain")
    text = repr(measure_peak_memory(job.step, model=job.model, optimizer=job.optimizer, inputs=job.batch))
    assert text.startswith("Peak memory 2.9 MiB in backward, 1.3 MiB above entry\n  parameters  ")
    assert text.endswith(f"  measured on CPU, torch {torch.__version__}; 1 MiB = 2**20 bytes")
    assert max(len(line) for line in text.splitlines()) <= 80

"""The cases of lesson 06 have the properties that it promises, and its figures are reproduced."""

import pytest
import torch

from grader.judging.decay_groups import make_groups
from grader.judging.lessons.adamw.state_size import TABLE
from grader.lessons.adamw.backward import backward_peak_case
from grader.lessons.adamw.counted import count_cases
from grader.lessons.adamw.forms import decay_forms_cases
from grader.lessons.adamw.state import state_cases
from grader.lessons.adamw.updates import adam_cases, adamw_cases
from grader.meters.forecast import forecast_peak_memory
from grader.meters.optimizer_state import optimizer_state_bytes, optimizer_state_elements
from grader.testbed.chain import make_chain
from grader.testbed.optimizer_states import OPTIMIZERS, distilbert_tensors
from grader.testbed.optimizer_steps import STEPS
from grader.testbed.pretrained import make_distilbert
from grader.units import MIB

SEEDS = (0, 20_011)


def test_distilbert_keeps_501_89_mib_under_adamw():
    model = make_distilbert()
    assert [kind.shape for kind in distilbert_tensors()] == [tuple(parameter.shape) for parameter in model.parameters()]
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    optimizer.step()
    assert optimizer_state_elements(optimizer) == 131_566_188
    assert optimizer_state_bytes(optimizer) == TABLE.truths(0)[0] == 526_264_752
    assert round(optimizer_state_bytes(optimizer) / MIB, 2) == 501.89


@pytest.mark.parametrize("seed", SEEDS)
def test_the_reference_counts_what_torch_keeps(seed):
    for case, state_bytes in list(zip(state_cases(seed), TABLE.truths(seed), strict=True))[1:]:
        parameters = case.make_parameters("cpu")
        optimizer = case.make_optimizer(parameters)
        for parameter in parameters:
            parameter.grad = torch.ones_like(parameter) if parameter.requires_grad else None
        optimizer.step()
        assert optimizer_state_bytes(optimizer) == state_bytes


@pytest.mark.parametrize("seed", SEEDS)
def test_each_optimizer_and_each_trap_is_in_a_state_case(seed):
    cases = state_cases(seed)
    assert {case.optimizer for case in cases} == set(OPTIMIZERS)
    assert any(not kind.is_trained for case in cases for kind in case.tensors)
    assert {kind.dtype.itemsize for case in cases for kind in case.tensors} == {2, 4}


@pytest.mark.parametrize("seed", SEEDS)
def test_gradients_are_zero_in_places_and_missing_in_others(seed):
    for case in (*adam_cases(seed), *adamw_cases(seed)):
        assert not bool(case.gradients(1)[0][0].any())
    last = adamw_cases(seed)[2]
    assert last.gradients(1)[4] is None and last.gradients(STEPS)[4] is not None
    assert last.gradients(STEPS)[2] is None
    assert [last.gradients(step)[3] is None for step in (8, 9, 10, 11)] == [False, True, True, False]
    assert not bool(last.gradients(6)[5].any())


@pytest.mark.parametrize("seed", SEEDS)
def test_every_option_is_that_of_its_group_and_of_its_step(seed):
    last = adamw_cases(seed)[2]
    for name in ("lr", "betas", "eps", "weight_decay"):
        assert len({last.options(group, step)[name] for group in (0, 1) for step in (1, STEPS)}) == 4


@pytest.mark.parametrize(("momentum", "peak_mib"), [(None, 171.7), (0.9, 139.7), (0.0, 107.6)])
def test_the_peaks_of_three_optimizers_are_those_of_the_lesson(momentum, peak_mib):
    def prepare():
        model, inputs = make_chain(16, 256, 1024), torch.zeros(512, 256)
        optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
        if momentum is not None:
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=momentum, foreach=False)

        def step():
            optimizer.zero_grad()
            model(inputs).square().mean().backward()
            optimizer.step()

        return {"step": step, "model": model, "optimizer": optimizer, "inputs": inputs}

    assert round(forecast_peak_memory(prepare, operators="cpu").peak_bytes / MIB, 1) == peak_mib


@pytest.mark.parametrize("seed", SEEDS)
def test_the_measured_chain_has_activations_between_10_mib_and_its_gradients(seed):
    case = backward_peak_case(seed)
    activations_mib = 4 * case.blocks * case.batch * (2 * 1024 + 256) / MIB
    gradients_mib = sum(parameter.nbytes for parameter in case.make_model().parameters()) / MIB
    assert 10 < activations_mib < gradients_mib / 2


def test_packed_state_shares_a_storage_and_leaves_gaps():
    packed = next(case for case in count_cases(0) if case.kind == "packed").make_optimizer()
    states = list(packed.state.values())
    assert len({state["code_book"].data_ptr() for state in states}) == 1
    buffer = states[0]["mean"].untyped_storage()
    assert all(state["mean"].untyped_storage().data_ptr() == buffer.data_ptr() for state in states)
    assert buffer.nbytes() > sum(state["mean"].nbytes for state in states)


def test_the_two_rules_for_decay_agree_with_the_trainer():
    from transformers.trainer_pt_utils import get_parameter_names

    model = decay_forms_cases(0)[0].make_model()
    of_trainer = set(get_parameter_names(model, [torch.nn.LayerNorm], [r"bias", r"layernorm"]))
    decayed = set(map(id, make_groups(model, 0.1)[0]["params"]))
    assert {name for name, parameter in model.named_parameters() if id(parameter) in decayed} == of_trainer

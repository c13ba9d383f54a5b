"""Lesson 08 on a GPU, without one: the update of bitsandbytes' CUDA kernel takes the place of the CPU's."""

from __future__ import annotations

import bitsandbytes
import pytest
import torch
from torch import nn

from grader.judging.lessons.adam_8bit.cuda_kernel import encode_nearest, replay_on
from grader.judging.lessons.adam_8bit.forms import FORMS, judge_eight_bit_accelerate
from grader.judging.lessons.adam_8bit.job import LOSS_FACTOR, reference_loss
from grader.lessons.adam_8bit.forms import eight_bit_forms_cases
from grader.lessons.adam_8bit.job import JobCase, job_loss_cases
from grader.observation import Observation
from grader.observing.library_calls import record_library_calls
from grader.observing.optimizer_records import record_updates
from grader.observing.recording import record_training

UNSIGNED = bitsandbytes.functional.create_dynamic_map(signed=False)
SIGNED = bitsandbytes.functional.create_dynamic_map(signed=True)


def train_job(case: JobCase, *, is_overridden: bool) -> float:
    """Return the loss after one epoch with 8-bit AdamW, as a multiple of AdamW's."""
    model = case.make_model()
    for module in model.modules():
        if is_overridden and isinstance(module, nn.Embedding):
            manager = bitsandbytes.optim.GlobalOptimManager.get_instance()
            manager.register_module_override(module, "weight", {"optim_bits": 32})
    optimizer = bitsandbytes.optim.AdamW8bit(model.parameters(), lr=4e-3)
    for words, topics in case.make_batches():
        optimizer.zero_grad()
        model(words, topics).backward()
        optimizer.step()
    return case.loss_of(nn.utils.parameters_to_vector(model.parameters()).detach()) / reference_loss(case)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_embeddings_in_32_bits_reach_the_loss_of_adamw_on_both_devices(device: str) -> None:
    for case in job_loss_cases(0):
        with replay_on(device):
            assert train_job(case, is_overridden=True) < 1.05


def test_codes_for_the_embedding_miss_the_loss_on_cuda_only() -> None:
    for case in job_loss_cases(0):
        with replay_on("cpu"):
            assert train_job(case, is_overridden=False) < 1.05
        with replay_on("cuda"):
            assert train_job(case, is_overridden=False) > LOSS_FACTOR


def test_a_small_second_moment_gets_code_0_on_cuda_and_code_7_on_the_cpu() -> None:
    assert encode_nearest(torch.tensor([0.0, 1.0]), UNSIGNED).tolist() == [0, 255]
    codes, _ = bitsandbytes.functional.quantize_blockwise(torch.eye(2), code=UNSIGNED, blocksize=256)
    assert int(codes[0, 1]) == 7


def test_a_code_of_the_other_sign_is_moved_by_one() -> None:
    tiny = torch.tensor([-1e-9, 1e-9, 0.0])  # all nearest to the code of 0
    zero = int((SIGNED == 0).nonzero())
    assert encode_nearest(tiny, SIGNED).tolist() == [zero - 1, zero, zero]


def observe(device: str, reported: str) -> Observation:
    """Return what the check would see of a right loop whose optimizer updates as on `device`."""
    settings, calls, tensors = [], [], {}
    for number, case in enumerate(eight_bit_forms_cases(0)):
        model, dataset = case.make_model(), case.make_dataset()
        with replay_on(device), record_training(model) as record, record_library_calls(record):
            (optimizer,) = FORMS.make_optimizers(case, model)
            with record_updates(model) as updates:
                for start in range(0, case.rows * case.updates, case.rows):
                    optimizer.zero_grad()
                    model(**dataset[start : start + case.rows]).loss.backward()
                    optimizer.step()
        called = {"prepared": ["model", "optimizer", "loader"], "backward": [1] * case.updates, "trainer": []}
        calls.append(called | {"forwards_in_trainer": [], "accumulate": [], "used": ["optimizer", "loader"]})
        settings.append(record.facts() | updates.facts())
        tensors |= record.tensors(str(number))
    return Observation({"settings": settings, "calls": calls, "device": reported}, tensors)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_a_right_run_passes_where_the_judge_replays_its_device(device: str) -> None:
    assert judge_eight_bit_accelerate(observe(device, device), 0).is_passed


def test_the_two_devices_end_too_far_apart_to_replay_one_for_the_other() -> None:
    assert judge_eight_bit_accelerate(observe("cuda", "cpu"), 0).code == "another_optimizer"

"""The cases of lesson 21 distinguish what they are meant to, and its references agree with the libraries."""

from __future__ import annotations

import logging

import pytest
import torch
from torch import nn

from grader.judging.lessons.quantization_and_lora.adapters import add_lora
from grader.judging.lessons.quantization_and_lora.codes import NF4, quantize_nf4
from grader.judging.lessons.quantization_and_lora.rounding import fake_quantize
from grader.lessons.quantization_and_lora.adapters import adapter_cases, run_adapter
from grader.lessons.quantization_and_lora.codes import codes_cases
from grader.lessons.quantization_and_lora.forms import qlora_cases, row_numbers
from grader.lessons.quantization_and_lora.plans import plan_cases
from grader.lessons.quantization_and_lora.rounding import rounding_cases


@pytest.mark.parametrize("seed", range(20))
def test_some_plans_have_short_blocks_on_both_levels_and_layers_that_are_not_adapted(seed: int) -> None:
    numbers = [(case, inputs * outputs) for case in plan_cases(seed) for inputs, outputs, _ in case.layers]
    assert any(count % case.block_size for case, count in numbers)
    assert any(
        case.second_block_size and -(-count // case.block_size) % case.second_block_size for case, count in numbers
    )
    assert any(not is_adapted for case in plan_cases(seed) for *_, is_adapted in case.layers)
    assert any(count % 2 for _, count in numbers)


def test_the_reference_quantizes_as_bitsandbytes() -> None:
    logging.getLogger("bitsandbytes").setLevel(logging.ERROR)
    functional = pytest.importorskip("bitsandbytes").functional
    torch.testing.assert_close(NF4, functional.get_4bit_type("nf4", device="cpu"), rtol=0, atol=0)
    for case in codes_cases(3):
        if case.block_size == 64 and case.numbers % 2 == 0:
            packed, state = functional.quantize_4bit(case.make_values(), blocksize=64, quant_type="nf4")
            own, scales = quantize_nf4(case.make_values(), 64)
            torch.testing.assert_close(scales, state.absmax)
            assert (own != packed.flatten()).float().mean() < 0.01


@pytest.mark.parametrize("seed", range(20))
def test_a_short_block_an_odd_number_and_other_blocks_are_judged(seed: int) -> None:
    cases = codes_cases(seed)
    assert any(case.numbers % case.block_size for case in cases) and any(case.numbers % 2 for case in cases)
    assert {case.block_size for case in cases} > {64}


@pytest.mark.parametrize("seed", range(5))
def test_the_reference_adapter_merges_to_its_own_outputs(seed: int) -> None:
    for case in adapter_cases(seed):
        facts, tensors = run_adapter(add_lora, case)
        torch.testing.assert_close(tensors["merged"], tensors["outputs"], rtol=1e-5, atol=1e-5)
        assert facts["distance_at_start"] == 0 and not facts["is_base_changed"] and not facts["is_dense"]


def test_a_dense_update_is_seen() -> None:
    class Dense(nn.Module):
        def __init__(self, layer: nn.Linear, rank: int, alpha: float):
            super().__init__()
            self.inner = add_lora(layer, rank, alpha)
            self.A, self.B, self.scale = self.inner.A, self.inner.B, alpha / rank

        def forward(self, inputs: torch.Tensor) -> torch.Tensor:
            layer = self.inner.layer
            return nn.functional.linear(inputs, layer.weight + self.scale * self.B @ self.A, layer.bias)

        def merged(self) -> nn.Linear:
            return self.inner.merged()

    assert run_adapter(Dense, adapter_cases(0)[0])[0]["is_dense"]


@pytest.mark.parametrize("seed", range(5))
def test_fake_quantization_is_that_of_torch(seed: int) -> None:
    for case in rounding_cases(seed):
        values, _ = case.draw()
        half = 2 ** (case.bits - 1)
        wanted = torch.fake_quantize_per_tensor_affine(values.float(), case.scale, 0, -half, half - 1)
        torch.testing.assert_close(fake_quantize(values, case.scale, case.bits).float(), wanted)


@pytest.mark.parametrize("seed", range(10))
def test_rows_are_told_apart_and_the_last_batch_is_short(seed: int) -> None:
    for case in qlora_cases(seed):
        rows = row_numbers(case.make_dataset()["input_ids"][:])
        assert len(set(rows)) == len(rows) and len(rows) % case.rows
    assert len({case.rank for case in qlora_cases(seed)}) == 2

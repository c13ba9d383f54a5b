"""A right answer is not refused for the Accelerator that an earlier one made."""

from __future__ import annotations

import accelerate
import pytest
import torch
from accelerate.state import AcceleratorState, GradientState, PartialState

from grader.observing.accelerate_state import own_accelerate_state

SHARED = (PartialState, AcceleratorState, GradientState)


@pytest.fixture(autouse=True)
def own_process() -> None:
    for owner in SHARED:
        owner._shared_state.clear()


def test_an_accelerator_in_a_check_does_not_take_the_precision_of_an_earlier_one() -> None:
    earlier = accelerate.Accelerator(cpu=True, mixed_precision="bf16")
    with own_accelerate_state():
        assert accelerate.Accelerator(cpu=True).mixed_precision == "no"
    assert earlier.mixed_precision == "bf16"
    assert accelerate.Accelerator(cpu=True).mixed_precision == "bf16"  # as the notebook had it


def test_an_earlier_accelerator_works_in_a_check_that_makes_none() -> None:
    earlier = accelerate.Accelerator(cpu=True, mixed_precision="bf16")
    with own_accelerate_state():
        assert earlier.mixed_precision == "bf16"


def test_two_accelerators_in_one_check_share_their_state() -> None:
    with own_accelerate_state():
        accelerate.Accelerator(cpu=True, mixed_precision="bf16")
        assert accelerate.Accelerator(cpu=True).mixed_precision == "bf16"
    assert AcceleratorState._shared_state == {}


def test_products_stay_in_float32_after_an_accelerator_that_compiles() -> None:
    kept = torch.get_float32_matmul_precision()
    try:
        with own_accelerate_state():
            torch.set_float32_matmul_precision("high")  # as the libraries do for CUDA
            accelerate.Accelerator(cpu=True)
            assert torch.get_float32_matmul_precision() == "highest"
    finally:
        torch.set_float32_matmul_precision(kept)

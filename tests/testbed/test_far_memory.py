"""Far memory returns what was put, counts each transfer, frees what nobody holds, and is no memory of the device."""

from __future__ import annotations

import pytest
import torch

from grader.meters.measurement import measure_peak_memory
from grader.testbed.far_memory import FarMemory

TENSORS = {
    "transposed": torch.arange(12.0).view(3, 4).t(),
    "scalar": torch.tensor(2.5),
    "empty": torch.empty(0, 3),
    "tokens": torch.arange(7),
    "mask": torch.tensor([True, False, True]),
    "bfloat16": torch.arange(5, dtype=torch.bfloat16),
    "expanded": torch.ones(3, 1).expand(3, 5),
}


@pytest.mark.parametrize("name", TENSORS)
def test_a_tensor_comes_back_as_it_was(name: str) -> None:
    tensor, far = TENSORS[name], FarMemory()
    others = [far.put(other) for other in TENSORS.values()]
    sent = far.put(tensor)
    found = far.get(sent)
    assert torch.equal(found, tensor)
    assert (found.dtype, found.shape) == (tensor.dtype, tensor.shape)
    assert far.fetched_bytes == tensor.nbytes
    assert far.held_bytes == far.sent_bytes == tensor.nbytes + sum(other.nbytes for other in others)


def test_a_place_is_freed_and_used_again() -> None:
    far = FarMemory()
    first = far.put(torch.ones(100))
    del first
    assert far.held_bytes == 0
    second, third = far.put(torch.zeros(100)), far.put(torch.full((100,), 3.0))
    assert far.get(second).sum() == 0
    assert far.get(third).sum() == 300
    assert far._end == 2 * 448  # 400 bytes each, rounded up


def test_a_far_tensor_is_replaced() -> None:
    far = FarMemory()
    sent = far.put(torch.ones(4))
    assert far.put(torch.zeros(4), sent) is sent
    assert far.held_bytes == 16
    assert far.get(sent).sum() == 0
    with pytest.raises(ValueError, match="cannot replace"):
        far.put(torch.ones(5), sent)
    with pytest.raises(TypeError, match="takes a FarTensor"):
        far.get(torch.ones(4))  # type: ignore[arg-type]


def test_the_meter_counts_the_device_only() -> None:
    far, kept = FarMemory(), []

    def step() -> None:
        kept[:] = [far.put(torch.ones(1000)) for _ in range(5)]
        far.get(kept[0])

    assert measure_peak_memory(step, device="cpu").above_entry_bytes == 4000
    assert far.held_bytes == 20_000

"""The 8-bit update as the CUDA kernel of bitsandbytes computes it, in operators of PyTorch.

It differs from the CPU's in what a small second moment becomes: CUDA takes the nearest code, which is code 0 of value
0, and the CPU's smallest is code 7. So the same run ends elsewhere on the two devices.

Source: bitsandbytes 0.50.2, csrc/kernels.cu, kOptimizerStatic8bit2StateBlockwise.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from grader.testbed.eight_bit_manager import fresh_optimizer_manager
from grader.testbed.extras import import_train_extra

BLOCK = 256


@contextlib.contextmanager
def replay_on(device: str) -> Iterator[None]:
    """Let optimizers of bitsandbytes update as on a device, `cpu` or `cuda`, and begin without overrides."""
    functional = import_train_extra("bitsandbytes").functional
    kept = functional.optimizer_update_8bit_blockwise
    with fresh_optimizer_manager():
        if device == "cuda":
            functional.optimizer_update_8bit_blockwise = update_as_cuda
        try:
            yield
        finally:
            functional.optimizer_update_8bit_blockwise = kept


def update_as_cuda(
    optimizer_name: str,
    gradient: Tensor,
    weight: Tensor,
    codes1: Tensor,
    codes2: Tensor,
    beta1: float,
    beta2: float,
    _beta3: float,
    _alpha: float,
    eps: float,
    step: int,
    lr: float,
    book1: Tensor,
    book2: Tensor,
    scales1: Tensor,
    scales2: Tensor,
    weight_decay: float,
    **_: Any,
) -> None:
    """Take one step of Adam with decoupled decay; the arguments are those of bitsandbytes' function."""
    blocks = _in_blocks(gradient.float())
    mean = (book1[_in_blocks(codes1).long()] * scales1[:, None]).lerp(blocks, 1 - beta1)
    square_mean = (book2[_in_blocks(codes2).long()] * scales2[:, None]).lerp(blocks.square(), 1 - beta2)
    correction = math.sqrt(1 - beta2**step)
    change = lr * correction / (1 - beta1**step) * mean / (square_mean.sqrt() + correction * eps)
    moved = weight.detach() - change.flatten()[: weight.numel()].view(weight.shape)
    weight.data.copy_(moved * (1 - lr * weight_decay))
    for moment, codes, scales, book in ((mean, codes1, scales1, book1), (square_mean, codes2, scales2, book2)):
        scales.copy_(moment.abs().amax(dim=1))
        places = encode_nearest(moment / scales[:, None], book)
        codes.copy_(places.flatten()[: codes.numel()].view(codes.shape))


def encode_nearest(shares: Tensor, book: Tensor) -> Tensor:
    """Return the place of the nearest value in a code book; where its sign is another, that of the next one."""
    shares = shares.nan_to_num()  # a block of zeros has the scale 0
    places = torch.bucketize(shares, (book[1:] + book[:-1]) / 2)
    is_turned = torch.signbit(book[places]) != torch.signbit(shares)
    return torch.where(is_turned, places + torch.where(shares > 0, 1, -1), places).clamp(0, 255).to(torch.uint8)


def _in_blocks(tensor: Tensor) -> Tensor:
    flat = tensor.flatten()
    return torch.nn.functional.pad(flat, (0, -len(flat) % BLOCK)).view(-1, BLOCK)

"""Written by run_ranks: the functions that each rank runs, and what they use."""
from __future__ import annotations
from grader.testbed.chain import make_chain as make_chain
from torch.nn.parallel.distributed import DistributedDataParallel as DistributedDataParallel
import torch as torch


def train_wrapped(rank, is_bypassed):
    model = DistributedDataParallel(make_chain(2, 16, 64))
    called = model.module if is_bypassed else model
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(rank)
    losses = []
    for _ in range(20):
        inputs = torch.randn(32, 16)
        loss = (called(inputs) - inputs).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses[0], losses[-1], torch.cat([parameter.detach().flatten() for parameter in model.parameters()])

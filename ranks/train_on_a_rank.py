"""Written by run_ranks: the functions that each rank runs, and what they use."""
from __future__ import annotations
from contextlib import nullcontext as nullcontext
from torch.nn.parallel.distributed import DistributedDataParallel as DistributedDataParallel
import torch as torch
import torch.nn.functional as F


def make_job(seed):
    """A small model, with weights by the seed, and 12 rows that are the same for every seed."""
    torch.manual_seed(seed)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    torch.manual_seed(100)
    return model, torch.randn(12, 3), torch.randn(12, 1)


def train_on_a_rank(rank, world_size, train):
    model = DistributedDataParallel(make_job(seed=0)[0])
    generator = torch.Generator().manual_seed(0)
    sizes = ((4, 3), (4, 1))  # inputs and targets of a micro-batch of 4 rows
    micro_batches = [tuple(torch.randn(size, generator=generator) for size in sizes) for _ in range(6 * world_size)]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    train(model, optimizer, micro_batches, 4, rank, world_size)
    return model.module[0].bias.detach()[:2]


def train_accumulated(model, optimizer, micro_batches: list, k: int, rank: int, world_size: int) -> None:
    """Train one epoch on this rank, with one all-reduce of the gradients for each update.

    Args:
        model: A module in DistributedDataParallel, called on inputs [rows, features].
        optimizer: Holds its parameters.
        micro_batches: (inputs, targets) pairs of all ranks, with equal numbers of rows.
        k: Micro-batches of one rank for one update.
        rank: Number of this rank.
        world_size: How many ranks.
    """
    ### BEGIN SOLUTION
    own = micro_batches[rank::world_size]
    for start in range(0, len(own), k):
        group = own[start : start + k]
        for index, (inputs, targets) in enumerate(group):
            with nullcontext() if index + 1 == len(group) else model.no_sync():
                (F.mse_loss(model(inputs), targets) / len(group)).backward()
        optimizer.step()
        optimizer.zero_grad()
    ### END SOLUTION


train = train_accumulated

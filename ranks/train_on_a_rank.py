"""Written by run_ranks: the functions that each rank runs, and what they use."""
from __future__ import annotations
import torch as torch
import torch.distributed as dist
import torch.nn.functional as F


def average_tensors(tensors, world_size):
    """Replace each tensor by its mean over all ranks."""
    with torch.no_grad():
        for tensor in tensors:
            dist.all_reduce(tensor)
            tensor /= world_size


def average_weights(model):
    average_tensors(list(model.parameters()), dist.get_world_size())


def train_on_a_rank(rank, world_size, train_epoch):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    micro_batches = [(torch.randn(4, 3), torch.randn(4, 1)) for _ in range(14 * world_size)]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    train_epoch(model, optimizer, micro_batches, 2, 3, average_weights, rank, world_size)
    return model[0].bias.detach()[:2]


def train_local_sgd(
    model, optimizer, micro_batches: list, k: int, every: int, average, rank: int, world_size: int
) -> None:
    """Train one epoch on this rank, and average with the others after every few updates.

    Args:
        model: Called on inputs [rows, features]; in train mode.
        optimizer: Holds its parameters.
        micro_batches: (inputs, targets) pairs of all ranks, with equal numbers of rows.
        k: Micro-batches for one update.
        every: Updates between two averages.
        average: average(model) averages a model over all ranks.
        rank: Number of this rank.
        world_size: How many ranks.
    """
    ### BEGIN SOLUTION
    own = micro_batches[rank::world_size]
    groups = [own[start : start + k] for start in range(0, len(own), k)]
    for update, group in enumerate(groups, start=1):
        for inputs, targets in group:
            (F.mse_loss(model(inputs), targets) / len(group)).backward()
        optimizer.step()
        optimizer.zero_grad()
        if update % every == 0 or update == len(groups):
            average(model)
    ### END SOLUTION


train_epoch = train_local_sgd

"""Written by run_ranks: the functions that each rank runs, and what they use."""
from __future__ import annotations
from grader.lessons.local_sgd.ranks import observe_epochs as observe_epochs
import torch.nn.functional as F


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


answer = train_local_sgd

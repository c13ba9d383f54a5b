"""Written by run_ranks: the functions that each rank runs, and what they use."""
from __future__ import annotations
import torch as torch
import torch.distributed as dist
import torch.nn.functional as F


def make_job(seed):
    """A small model, with weights by the seed, and 12 rows that are the same for every seed."""
    torch.manual_seed(seed)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    torch.manual_seed(100)
    return model, torch.randn(12, 3), torch.randn(12, 1)


def average_after_backward(rank, world_size):
    """Return two numbers of the gradient before and after the ranks have talked."""
    model, inputs, targets = make_job(seed=0)
    F.mse_loss(model(inputs[rank::world_size]), targets[rank::world_size]).backward()
    own = model[0].bias.grad[:2].clone()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= world_size
    return own, model[0].bias.grad[:2]

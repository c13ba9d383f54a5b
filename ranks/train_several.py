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


def make_job(rank, is_sorted=False):
    """Return a model, 60 batches of 8 rows for this rank of two, and all rows."""
    torch.manual_seed(0)
    layers = [torch.nn.Linear(*sizes) for sizes in ((8, 32), (32, 1), (8, 32), (32, 1))]
    teacher, model = (torch.nn.Sequential(layers[i], torch.nn.Tanh(), layers[i + 1]) for i in (0, 2))
    inputs = torch.randn(960, 8)
    targets = 3 * teacher(inputs).detach() + torch.sin(2 * inputs[:, :1])
    order = inputs[:, 0].argsort() if is_sorted else torch.arange(960)
    own = order.chunk(2)[rank][torch.randperm(480)].view(60, 8)
    return model, inputs[own], targets[own], (inputs, targets)


def train_diloco(rank, world_size, every, rate, outer_rate, outer_momentum):
    model, inputs, targets, _ = make_job(rank)
    parameters = list(model.parameters())
    shared = [parameter.detach().clone() for parameter in parameters]  # the weights of the last synchronisation
    inner = torch.optim.AdamW(parameters, lr=rate)
    outer = torch.optim.SGD(shared, lr=outer_rate, momentum=outer_momentum, nesterov=outer_momentum > 0)
    for update in range(60):
        inner.zero_grad()
        F.mse_loss(model(inputs[update]), targets[update]).backward()
        inner.step()
        if (update + 1) % every == 0:
            average_tensors(parameters, world_size)
            for old, parameter in zip(shared, parameters, strict=True):
                old.grad = old - parameter.detach()
            outer.step()
            with torch.no_grad():
                [parameter.copy_(old) for old, parameter in zip(shared, parameters, strict=True)]
    return torch.cat([parameter.detach().flatten() for parameter in parameters])


def train_several(rank, world_size, jobs):
    return [train_diloco(rank, world_size, *job) for job in jobs]

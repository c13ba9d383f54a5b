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


def make_optimizer(name, parameters):
    if name == "AdamW":
        return torch.optim.AdamW(parameters, lr=0.01)
    return torch.optim.SGD(parameters, lr=0.05, momentum=0.9 if name == "SGD with momentum" else 0.0)


def train(rank, world_size, every, name="SGD", is_sorted=False):
    """Train for 60 updates, and return all weights after each of them."""
    model, inputs, targets, _ = make_job(rank, is_sorted)
    parameters, weights = list(model.parameters()), []
    optimizer = make_optimizer(name, parameters)
    for update in range(60):
        optimizer.zero_grad()
        F.mse_loss(model(inputs[update]), targets[update]).backward()
        if every == 0:
            average_tensors([parameter.grad for parameter in parameters], world_size)
        if name == "SGD with clipping":
            torch.nn.utils.clip_grad_norm_(parameters, 0.1)
        optimizer.step()
        if every and (update + 1) % every == 0:
            average_tensors(parameters, world_size)
        weights.append(torch.cat([parameter.detach().flatten() for parameter in parameters]))
    return torch.stack(weights)


def watch_training(rank, world_size, every):
    from torch.optim.optimizer import register_optimizer_step_pre_hook

    steps = []
    hook = register_optimizer_step_pre_hook(lambda *_: steps.append(rank))
    train(rank, world_size, every)
    hook.remove()
    return len(steps)

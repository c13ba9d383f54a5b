"""Written by run_ranks: the functions that each rank runs, and what they use."""
from __future__ import annotations
import torch as torch
import torch.distributed as dist


def average_tensors(tensors, world_size):
    """Replace each tensor by its mean over all ranks."""
    with torch.no_grad():
        for tensor in tensors:
            dist.all_reduce(tensor)
            tensor /= world_size


def ask_rank(rank, world_size, what):
    def train_here(model, optimizer):
        for _ in range(4):
            optimizer.zero_grad()
            model(torch.full((1, 2), rank + 1.0)).sum().backward()
            optimizer.step()
            average_tensors(list(model.parameters()), world_size)

    torch.manual_seed(0)
    model = torch.nn.Linear(2, 1)
    print(what(train_here, model, torch.optim.SGD(model.parameters(), lr=0.1)))


def what_is_averaged(train, model, optimizer) -> str:
    """Tell what a training on several ranks averages.

    Args:
        train: train(model, optimizer) trains this rank's model; every rank has to call it.
        model: A module on the CPU.
        optimizer: Holds its parameters; takes all steps of this rank.

    Returns:
        "gradients", "parameters", "driver" or "nothing"; the same on every rank.
    """
    ### BEGIN SOLUTION
    gradients = []

    def bits_of(tensors):
        return torch.cat([tensor.detach().flatten() for tensor in tensors]).numpy().tobytes()

    def note(*_):
        gradients.append(bits_of([parameter.grad for parameter in model.parameters()]))

    hook = optimizer.register_step_pre_hook(note)
    train(model, optimizer)
    hook.remove()
    everywhere = [None] * dist.get_world_size()
    dist.all_gather_object(everywhere, (gradients, bits_of(model.parameters())))
    if not all(steps for steps, _ in everywhere):
        return "driver"
    if all(steps == everywhere[0][0] for steps, _ in everywhere):
        return "gradients"
    return "parameters" if all(end == everywhere[0][1] for _, end in everywhere) else "nothing"
    ### END SOLUTION


what = what_is_averaged

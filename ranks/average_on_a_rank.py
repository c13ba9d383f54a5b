"""Written by run_ranks: the functions that each rank runs, and what they use."""
from __future__ import annotations
import torch as torch
import torch.distributed as dist


def average_on_a_rank(rank, average_model):
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
    with torch.no_grad():
        model[0].bias.fill_(rank)
    model[1].running_mean.fill_(10.0 * rank)
    model[1].num_batches_tracked.fill_(rank)
    average_model(model)
    numbers = model[0].bias.tolist(), model[1].running_mean.tolist(), model[1].num_batches_tracked.item()
    print(f"bias {numbers[0]}   running mean {numbers[1]}   counter {numbers[2]}")


def average_parameters(model) -> None:
    """Replace what can differ between the ranks by its mean over all ranks.

    Args:
        model: A module on the CPU; each rank calls this with its own.
    """
    world_size = dist.get_world_size()
    ### BEGIN SOLUTION
    tensors = [parameter for parameter in model.parameters() if parameter.requires_grad]
    tensors += [buffer for buffer in model.buffers() if buffer.is_floating_point()]
    with torch.no_grad():
        for tensor in tensors:
            dist.all_reduce(tensor)
            tensor /= world_size
    ### END SOLUTION


average_model = average_parameters

"""Written by run_ranks: the functions that each rank runs, and what they use."""
from __future__ import annotations
from grader.lessons.local_sgd.ranks import observe_averaging as observe_averaging
import torch as torch
import torch.distributed as dist


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


answer = average_parameters

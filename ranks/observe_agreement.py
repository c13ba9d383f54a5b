"""Written by run_ranks: the functions that each rank runs, and what they use."""
from __future__ import annotations
from grader.lessons.data_parallel.ranks import observe_agreement as observe_agreement
import hashlib as hashlib
import torch as torch
import torch.distributed as dist


def ranks_agree(model) -> bool:
    """Tell whether all ranks hold the same weights.

    Args:
        model: A module on the CPU, with float32 parameters; each rank calls this with its own.

    Returns:
        The same answer on every rank.
    """
    ### BEGIN SOLUTION
    digest = hashlib.sha256()
    for parameter in model.parameters():
        digest.update(parameter.detach().numpy().tobytes())
    own = torch.tensor(list(digest.digest()))
    smallest, largest = own.clone(), own.clone()
    dist.all_reduce(smallest, op=dist.ReduceOp.MIN)
    dist.all_reduce(largest, op=dist.ReduceOp.MAX)
    return torch.equal(smallest, largest)
    ### END SOLUTION


answer = ranks_agree

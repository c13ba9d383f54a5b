"""Written by run_ranks: the functions that each rank runs, and what they use."""
from __future__ import annotations
from grader.testbed.chain import make_chain as make_chain
import hashlib as hashlib
import torch as torch
import torch.distributed as dist


def ask_ranks(rank, agree):
    model = make_chain(2, 16, 64)
    before = agree(model)
    if rank == 1:
        with torch.no_grad():
            model[0].weight[0, :2] = model[0].weight[0, :2].flip(0)
    print(f"equal weights: {before}; two numbers of rank 1 swapped: {agree(model)}")


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


agree = ranks_agree

"""Written by run_ranks: the functions that each rank runs, and what they use."""
from __future__ import annotations
from grader.lessons.collectives.ranks import reduce_cases as reduce_cases


def f(tensor, rank, world_size, send, receive):

    if world_size & (world_size-1): raise ValueError('no')
    total=tensor.clone(); distance=1

    while distance < world_size:
        if rank + distance < world_size:
            send(total, rank + distance); total += receive(rank + distance)
        else:
            send(total, rank - distance); total += receive(rank - distance)
        distance *= 2
    return total


collective = f

"""Written by run_ranks: the functions that each rank runs, and what they use."""
from __future__ import annotations
import time as time


def fail(rank):
    if rank == 0:
        time.sleep(60)
    return rank

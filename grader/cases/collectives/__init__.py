"""Cases of lesson 14: what each of its checks is run on, as functions of a seed."""

from grader.cases.collectives.costs import ALGORITHMS, CostCase, cost_cases
from grader.cases.collectives.reductions import (
    ReductionCase,
    average_cases,
    butterfly_cases,
    group_by_ranks,
    ring_cases,
    shard_cases,
    unsupported_ranks,
)

__all__ = [
    "ALGORITHMS",
    "CostCase",
    "ReductionCase",
    "average_cases",
    "butterfly_cases",
    "cost_cases",
    "group_by_ranks",
    "ring_cases",
    "shard_cases",
    "unsupported_ranks",
]

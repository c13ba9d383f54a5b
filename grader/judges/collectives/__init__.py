"""Verdicts on lesson 14: collectives."""

from grader.judges.collectives.average import judge_ring_average
from grader.judges.collectives.butterfly import judge_butterfly_rounds, judge_butterfly_sums
from grader.judges.collectives.costs import judge_all_reduce_costs
from grader.judges.collectives.ring import judge_ring_sums, judge_ring_traffic
from grader.judges.collectives.shards import judge_ring_shards

__all__ = [
    "judge_all_reduce_costs",
    "judge_butterfly_rounds",
    "judge_butterfly_sums",
    "judge_ring_average",
    "judge_ring_shards",
    "judge_ring_sums",
    "judge_ring_traffic",
]

"""Verdicts on lesson 15: data parallel training."""

from grader.judges.data_parallel.accumulation import judge_data_parallel_updates
from grader.judges.data_parallel.agreement import judge_data_parallel_agreement
from grader.judges.data_parallel.calls import judge_data_parallel_calls
from grader.judges.data_parallel.forms import judge_data_parallel_accelerate, judge_data_parallel_trainer
from grader.judges.data_parallel.hooks import judge_synchronised_gradients
from grader.judges.data_parallel.traffic import judge_data_parallel_traffic, judge_synchronised_bytes

__all__ = [
    "judge_data_parallel_accelerate",
    "judge_data_parallel_agreement",
    "judge_data_parallel_calls",
    "judge_data_parallel_traffic",
    "judge_data_parallel_trainer",
    "judge_data_parallel_updates",
    "judge_synchronised_bytes",
    "judge_synchronised_gradients",
]

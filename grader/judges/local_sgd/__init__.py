"""Verdicts on lesson 16: local SGD."""

from grader.judges.local_sgd.averaging import judge_averaged_parameters
from grader.judges.local_sgd.epochs import judge_local_sgd_updates
from grader.judges.local_sgd.forms import judge_local_sgd_accelerate
from grader.judges.local_sgd.methods import judge_local_sgd_method
from grader.judges.local_sgd.synchronisations import judge_local_sgd_synchronisations
from grader.judges.local_sgd.traffic import judge_averaged_bytes, judge_local_sgd_traffic

__all__ = [
    "judge_averaged_bytes",
    "judge_averaged_parameters",
    "judge_local_sgd_accelerate",
    "judge_local_sgd_method",
    "judge_local_sgd_synchronisations",
    "judge_local_sgd_traffic",
    "judge_local_sgd_updates",
]

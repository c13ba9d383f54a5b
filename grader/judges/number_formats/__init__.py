"""Judges of lesson 04: the references and the verdicts."""

from grader.judges.number_formats.choice import judge_chosen_format
from grader.judges.number_formats.compensation import judge_compensated_sum
from grader.judges.number_formats.decoding import judge_decoded_patterns
from grader.judges.number_formats.limits import judge_format_limits
from grader.judges.number_formats.losses import judge_lost_values
from grader.judges.number_formats.rounding import judge_rounded_values

__all__ = [
    "judge_chosen_format",
    "judge_compensated_sum",
    "judge_decoded_patterns",
    "judge_format_limits",
    "judge_lost_values",
    "judge_rounded_values",
]

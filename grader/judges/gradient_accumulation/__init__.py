"""Verdicts on lesson 02: gradient accumulation."""

from grader.judges.gradient_accumulation.forms import judge_accelerate_form, judge_trainer_form
from grader.judges.gradient_accumulation.loops import judge_accumulated_gradients, judge_stream_updates
from grader.judges.gradient_accumulation.micro_batch_size import judge_largest_micro_batch
from grader.judges.gradient_accumulation.peak import judge_predicted_peak
from grader.judges.gradient_accumulation.token_peak import judge_token_peak
from grader.judges.gradient_accumulation.tokens import judge_token_gradients

__all__ = [
    "judge_accelerate_form",
    "judge_accumulated_gradients",
    "judge_largest_micro_batch",
    "judge_predicted_peak",
    "judge_stream_updates",
    "judge_token_gradients",
    "judge_token_peak",
    "judge_trainer_form",
]

"""Verdicts on lesson 03: gradient checkpointing."""

from grader.judges.gradient_checkpointing.budget import judge_budget_gradients, judge_budget_peak
from grader.judges.gradient_checkpointing.faults import judge_found_faults
from grader.judges.gradient_checkpointing.forms import judge_checkpointed_accelerate, judge_checkpointed_trainer
from grader.judges.gradient_checkpointing.function_peak import judge_checkpoint_peak
from grader.judges.gradient_checkpointing.functions import judge_checkpoint_gradients
from grader.judges.gradient_checkpointing.segments import judge_segment_peak

__all__ = [
    "judge_budget_gradients",
    "judge_budget_peak",
    "judge_checkpoint_gradients",
    "judge_checkpoint_peak",
    "judge_checkpointed_accelerate",
    "judge_checkpointed_trainer",
    "judge_found_faults",
    "judge_segment_peak",
]

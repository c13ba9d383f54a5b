"""Verdicts on lesson 06: AdamW."""

from grader.judges.adamw.adam import judge_adam_updates, judge_adamw_steps
from grader.judges.adamw.backward import judge_adam_in_backward
from grader.judges.adamw.backward_peak import judge_adam_backward_peak
from grader.judges.adamw.counted import judge_state_count
from grader.judges.adamw.forms import judge_adamw_accelerate_form, judge_adamw_trainer_form
from grader.judges.adamw.state_size import judge_state_bytes

__all__ = [
    "judge_adam_backward_peak",
    "judge_adam_in_backward",
    "judge_adam_updates",
    "judge_adamw_accelerate_form",
    "judge_adamw_steps",
    "judge_adamw_trainer_form",
    "judge_state_bytes",
    "judge_state_count",
]

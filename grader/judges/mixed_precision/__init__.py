"""Verdicts on lesson 05: mixed precision."""

from grader.judges.mixed_precision.budget import judge_update_peak, judge_whole_batch_update
from grader.judges.mixed_precision.forms import judge_accelerate_bf16, judge_trainer_bf16
from grader.judges.mixed_precision.fp16_runs import judge_fp16_on_its_device
from grader.judges.mixed_precision.groups import judge_clipped_updates
from grader.judges.mixed_precision.scale import judge_predicted_scale
from grader.judges.mixed_precision.scaled_updates import judge_scaled_updates

__all__ = [
    "judge_accelerate_bf16",
    "judge_clipped_updates",
    "judge_fp16_on_its_device",
    "judge_predicted_scale",
    "judge_scaled_updates",
    "judge_trainer_bf16",
    "judge_update_peak",
    "judge_whole_batch_update",
]

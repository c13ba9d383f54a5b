"""Judges of lesson 00: the references and the verdicts."""

from grader.judges.three_forms.defaults import judge_breaking_defaults
from grader.judges.three_forms.distance import judge_relative_distance
from grader.judges.three_forms.forms import judge_accelerate_run, judge_trainer_run
from grader.judges.three_forms.loop import judge_raw_updates, judge_repaired_loop

__all__ = [
    "judge_accelerate_run",
    "judge_breaking_defaults",
    "judge_raw_updates",
    "judge_relative_distance",
    "judge_repaired_loop",
    "judge_trainer_run",
]

"""Judges of lesson 01: the references and the verdicts."""

from grader.judges.where_memory_goes.extrapolation import judge_extrapolated_peak
from grader.judges.where_memory_goes.left_alive import judge_freed_bytes
from grader.judges.where_memory_goes.occupied import judge_occupied_memory
from grader.judges.where_memory_goes.own_meter import judge_own_meter
from grader.judges.where_memory_goes.step_peak import judge_step_peak

__all__ = [
    "judge_extrapolated_peak",
    "judge_freed_bytes",
    "judge_occupied_memory",
    "judge_own_meter",
    "judge_step_peak",
]

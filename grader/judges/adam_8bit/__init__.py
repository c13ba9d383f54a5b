"""Verdicts on lesson 08: 8-bit Adam."""

from grader.judges.adam_8bit.blocks import judge_block_codes
from grader.judges.adam_8bit.forms import judge_eight_bit_accelerate, judge_eight_bit_trainer
from grader.judges.adam_8bit.job import judge_lean_job
from grader.judges.adam_8bit.state_size import judge_eight_bit_state
from grader.judges.adam_8bit.steps import judge_eight_bit_steps

__all__ = [
    "judge_block_codes",
    "judge_eight_bit_accelerate",
    "judge_eight_bit_state",
    "judge_eight_bit_steps",
    "judge_eight_bit_trainer",
    "judge_lean_job",
]

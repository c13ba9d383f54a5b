"""Cases of lesson 08: what each of its checks is run on, as functions of a seed."""

from grader.cases.adam_8bit.blocks import BlockCase, block_cases
from grader.cases.adam_8bit.forms import eight_bit_forms_cases
from grader.cases.adam_8bit.job import JobCase, job_loss_cases, job_peak_case
from grader.cases.adam_8bit.state import SMALLEST_QUANTIZED, EightBitStateCase, eight_bit_state_cases
from grader.cases.adam_8bit.updates import EIGHT_BIT_STEPS, EightBitCase, eight_bit_cases

__all__ = [
    "EIGHT_BIT_STEPS",
    "SMALLEST_QUANTIZED",
    "BlockCase",
    "EightBitCase",
    "EightBitStateCase",
    "JobCase",
    "block_cases",
    "eight_bit_cases",
    "eight_bit_forms_cases",
    "eight_bit_state_cases",
    "job_loss_cases",
    "job_peak_case",
]

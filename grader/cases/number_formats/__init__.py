"""Cases of lesson 04: what each of its checks is run on, as functions of a seed."""

from grader.cases.number_formats.bit_format import BF16, E4M3, E5M2, FP16, BitFormat
from grader.cases.number_formats.choice import FORMAT_NAMES, ChoiceCase, choice_cases
from grader.cases.number_formats.compensation import SumCase, sum_cases
from grader.cases.number_formats.decoding import decoding_cases
from grader.cases.number_formats.limits import LIMITS, LimitsCase, limits_cases
from grader.cases.number_formats.rounding import LESSON_VALUES, LOSSES, RoundingCase, loss_cases, rounding_cases

__all__ = [
    "BF16",
    "E4M3",
    "E5M2",
    "FORMAT_NAMES",
    "FP16",
    "LESSON_VALUES",
    "LIMITS",
    "LOSSES",
    "BitFormat",
    "ChoiceCase",
    "LimitsCase",
    "RoundingCase",
    "SumCase",
    "choice_cases",
    "decoding_cases",
    "limits_cases",
    "loss_cases",
    "rounding_cases",
    "sum_cases",
]

"""Cases of lesson 03: what each of its checks is run on, as functions of a seed."""

from grader.cases.gradient_checkpointing.budget import FEW_ROWS, BudgetCase, budget_cases
from grader.cases.gradient_checkpointing.faults import FAULTS, FaultsCase, faults_cases
from grader.cases.gradient_checkpointing.forms import LAYERS, LEARNING_RATE, FormsCase, forms_cases, watched_parts
from grader.cases.gradient_checkpointing.functions import (
    FunctionCase,
    FunctionPeakCase,
    function_cases,
    function_peak_case,
)
from grader.cases.gradient_checkpointing.segments import SegmentsCase, segments_cases

__all__ = [
    "FAULTS",
    "FEW_ROWS",
    "LAYERS",
    "LEARNING_RATE",
    "BudgetCase",
    "FaultsCase",
    "FormsCase",
    "FunctionCase",
    "FunctionPeakCase",
    "SegmentsCase",
    "budget_cases",
    "faults_cases",
    "forms_cases",
    "function_cases",
    "function_peak_case",
    "segments_cases",
    "watched_parts",
]

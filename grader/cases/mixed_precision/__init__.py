"""Cases of lesson 05: what each of its checks is run on, as functions of a seed."""

from grader.cases.mixed_precision.budget import BudgetCase, gradient_budget_cases, peak_budget_case
from grader.cases.mixed_precision.forms import PAIRS_LEARNING_RATE, PrecisionFormsCase, precision_forms_cases
from grader.cases.mixed_precision.groups import (
    FP16_LEARNING_RATE,
    DeviceCase,
    GroupCase,
    device_cases,
    group_cases,
)
from grader.cases.mixed_precision.scales import ScaleCase, ScalerCase, scale_cases, scale_histories, scaler_cases

__all__ = [
    "FP16_LEARNING_RATE",
    "PAIRS_LEARNING_RATE",
    "BudgetCase",
    "DeviceCase",
    "GroupCase",
    "PrecisionFormsCase",
    "ScaleCase",
    "ScalerCase",
    "device_cases",
    "gradient_budget_cases",
    "group_cases",
    "peak_budget_case",
    "precision_forms_cases",
    "scale_cases",
    "scale_histories",
    "scaler_cases",
]

"""Cases of lesson 02: what each of its checks is run on, as functions of a seed."""

from grader.cases.gradient_accumulation.forms import FormsCase, forms_cases
from grader.cases.gradient_accumulation.loops import LEARNING_RATE, UpdatesCase, stream_cases, updates_cases
from grader.cases.gradient_accumulation.micro_batch_size import FitCase, fit_cases
from grader.cases.gradient_accumulation.peak import PeakCase, peak_cases
from grader.cases.gradient_accumulation.tokens import TokenCase, token_budget_case, token_cases

__all__ = [
    "LEARNING_RATE",
    "FitCase",
    "FormsCase",
    "PeakCase",
    "TokenCase",
    "UpdatesCase",
    "fit_cases",
    "forms_cases",
    "peak_cases",
    "stream_cases",
    "token_budget_case",
    "token_cases",
    "updates_cases",
]

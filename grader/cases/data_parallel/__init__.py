"""Cases of lesson 15: what each of its checks is run on, as functions of a seed."""

from grader.cases.data_parallel.accumulation import AccumulationCase, accumulation_cases
from grader.cases.data_parallel.agreement import PARAMETERS, PLACES, AgreementCase, agreement_cases, one_of
from grader.cases.data_parallel.calls import AROUND_BACKWARD, AROUND_BOTH, NOWHERE, CallsCase, calls_cases
from grader.cases.data_parallel.forms import ParallelFormsCase, parallel_forms_cases
from grader.cases.data_parallel.hooks import LEARNING_RATE, HooksCase, hooks_cases

__all__ = [
    "AROUND_BACKWARD",
    "AROUND_BOTH",
    "LEARNING_RATE",
    "NOWHERE",
    "PARAMETERS",
    "PLACES",
    "AccumulationCase",
    "AgreementCase",
    "CallsCase",
    "HooksCase",
    "ParallelFormsCase",
    "accumulation_cases",
    "agreement_cases",
    "calls_cases",
    "hooks_cases",
    "one_of",
    "parallel_forms_cases",
]

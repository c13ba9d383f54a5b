"""Cases of lesson 00: what each of its checks is run on, as functions of a seed."""

from grader.cases.three_forms.defaults import DEFAULTS, DefaultsCase, defaults_cases
from grader.cases.three_forms.distance import (
    DistanceCase,
    distance_cases,
    equal_case,
    unmoved_cases,
    untrained_case,
)
from grader.cases.three_forms.forms import forms_cases
from grader.cases.three_forms.loop import RunCase, raw_run_cases, repaired_run_cases

__all__ = [
    "DEFAULTS",
    "DefaultsCase",
    "DistanceCase",
    "RunCase",
    "defaults_cases",
    "distance_cases",
    "equal_case",
    "forms_cases",
    "raw_run_cases",
    "repaired_run_cases",
    "unmoved_cases",
    "untrained_case",
]

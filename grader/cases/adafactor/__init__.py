"""Cases of lesson 07: what each of its checks is run on, as functions of a seed."""

from grader.cases.adafactor.elements import LIBRARIES, ElementsCase, elements_cases
from grader.cases.adafactor.forms import adafactor_forms_cases
from grader.cases.adafactor.moments import MOMENT_STEPS, MomentCase, moment_cases
from grader.cases.adafactor.rates import FORMS, RateCase, rate_cases
from grader.cases.adafactor.updates import STEPS, AdafactorCase, adafactor_cases

__all__ = [
    "FORMS",
    "LIBRARIES",
    "MOMENT_STEPS",
    "STEPS",
    "AdafactorCase",
    "ElementsCase",
    "MomentCase",
    "RateCase",
    "adafactor_cases",
    "adafactor_forms_cases",
    "elements_cases",
    "moment_cases",
    "rate_cases",
]

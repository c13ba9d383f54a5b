"""Cases of lesson 06: what each of its checks is run on, as functions of a seed."""

from grader.cases.adamw.backward import BackwardCase, BackwardPeakCase, backward_cases, backward_peak_case
from grader.cases.adamw.counted import CountCase, count_cases
from grader.cases.adamw.forms import DecayFormsCase, decay_forms_cases
from grader.cases.adamw.state import OPTIMIZERS, StateCase, TensorKind, distilbert_tensors, state_cases
from grader.cases.adamw.updates import STEPS, GroupsCase, UpdateCase, adam_cases, adamw_cases

__all__ = [
    "OPTIMIZERS",
    "STEPS",
    "BackwardCase",
    "BackwardPeakCase",
    "CountCase",
    "DecayFormsCase",
    "GroupsCase",
    "StateCase",
    "TensorKind",
    "UpdateCase",
    "adam_cases",
    "adamw_cases",
    "backward_cases",
    "backward_peak_case",
    "count_cases",
    "decay_forms_cases",
    "distilbert_tensors",
    "state_cases",
]

"""Cases of lesson 01: what each of its checks is run on, as functions of a seed."""

from grader.cases.where_memory_goes.extrapolation import BERT_LARGE, ExtrapolationCase, extrapolation_cases
from grader.cases.where_memory_goes.left_alive import NamespaceCase, namespace_cases
from grader.cases.where_memory_goes.occupied import OccupiedCase, occupied_cases
from grader.cases.where_memory_goes.own_meter import WatchedStep, watched_step_cases
from grader.cases.where_memory_goes.step_peak import ChainStep, step_cases

__all__ = [
    "BERT_LARGE",
    "ChainStep",
    "ExtrapolationCase",
    "NamespaceCase",
    "OccupiedCase",
    "WatchedStep",
    "extrapolation_cases",
    "namespace_cases",
    "occupied_cases",
    "step_cases",
    "watched_step_cases",
]

"""Cases of lesson 16: what each of its checks is run on, as functions of a seed."""

from grader.cases.local_sgd.averaging import AveragingCase, averaging_cases
from grader.cases.local_sgd.epochs import ADAMW, MOMENTUM, SGD, EpochCase, accelerated_cases, epoch_cases
from grader.cases.local_sgd.methods import DRIVER, GRADIENTS, METHODS, NOTHING, PARAMETERS, MethodCase, method_cases
from grader.cases.local_sgd.synchronisations import OPTIMIZERS, SynchronisationsCase, synchronisations_cases

__all__ = [
    "ADAMW",
    "DRIVER",
    "GRADIENTS",
    "METHODS",
    "MOMENTUM",
    "NOTHING",
    "OPTIMIZERS",
    "PARAMETERS",
    "SGD",
    "AveragingCase",
    "EpochCase",
    "MethodCase",
    "SynchronisationsCase",
    "accelerated_cases",
    "averaging_cases",
    "epoch_cases",
    "method_cases",
    "synchronisations_cases",
]

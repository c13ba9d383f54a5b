"""How the judges of lesson 06 name what a case is about."""

from __future__ import annotations

from grader.cases.adamw import UpdateCase


def describe(case: UpdateCase, index: int, step: int = 1) -> str:
    """Name a tensor of a case and its options at a step, counted from 1."""
    options = case.options(case.groups[index], step)
    shape = " x ".join(map(str, case.shapes[index]))
    betas = " and ".join(f"{beta:.4g}" for beta in options["betas"])
    decay = f", weight_decay {options['weight_decay']:g}" if any(case.decays) else ""
    return f"{shape} numbers, lr {options['lr']:g}, betas {betas}, eps {options['eps']:g}{decay}"

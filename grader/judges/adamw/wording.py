"""How the judges of lesson 06 name what a case is about."""

from __future__ import annotations

from grader.cases.adamw import UpdateCase


def describe(case: UpdateCase, index: int) -> str:
    """Name a tensor of a case and its options."""
    group, (beta1, beta2) = case.groups[index], case.betas
    shape = " x ".join(map(str, case.shapes[index]))
    options = f"lr {case.learning_rates[group]:g}, betas {beta1:g} and {beta2:g}, eps {case.eps:g}"
    decay = f", weight_decay {case.decays[group]:g}" if any(case.decays) else ""
    return f"{shape} numbers, {options}{decay}"

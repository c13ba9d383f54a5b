"""Judges a second moment that is kept in rows and columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from grader.judging.lessons.adafactor.second_moment import (
    ESTIMATE,
    SECOND_MOMENT,
    STEP,
    UNPACK,
    factored_second_moment,
)
from grader.judging.misconceptions import Misconception, Table
from grader.judging.references import VISIBLE_SEED, ReferenceTable
from grader.lessons.adafactor.moments import MOMENT_STEPS, MomentCase, moment_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

# All numbers are positive, so float32 keeps six digits of each; the smallest mistake changes one by 1e-3.
TOLERANCE = 1e-4
MOST_COUNTERS = 4  # a step count may be a tensor of one number


def judge_factored_moment(observation: Observation, seed: int) -> Verdict:
    """Compare every estimate, number by number, and then the state."""
    cases, facts = moment_cases(seed), observation.facts["settings"]
    if any(setting["is_gradient_changed"] for setting in facts):
        look_at = "You write into the gradient. Make a new tensor instead: look for an operation that ends in _."
        return Verdict("gradient_changed", "the gradient as it was", "another gradient after the call", look_at)
    answer = TABLE.answer(seed, [observation.tensors[str(number)] for number in range(len(cases))])
    if not answer.is_right:
        step = next(step for step in range(MOMENT_STEPS) if not is_near(answer.value[step], answer.truth[step]))
        case: MomentCase = answer.case
        shape = " x ".join(map(str, case.shape))
        return TABLE.explain(
            answer,
            expected=f"after step {step + 1}, the second moment of {shape} numbers (decay_rate {case.decay_rate:g})",
            measured=_say(answer.value[step].double(), answer.truth[step]),
            otherwise=OTHERWISE_LATER if step else OTHERWISE,
        )
    for number, (case, setting) in enumerate(zip(cases, facts, strict=True)):
        repeats = is_near(observation.tensors[f"{number}.again"], TABLE.truths(seed)[number][1])
        verdict = KEPT.judge(Kept(case, setting["state_elements"], repeats))
        if verdict:
            return verdict
    measured = f"{len(cases)} tensors over {MOMENT_STEPS} steps, each from its row means and column means alone"
    return Verdict(PASSED, "the factored second moment", measured)


def estimates(second_moment: Callable[..., Tensor], case: MomentCase) -> Tensor:
    """Return the estimates of all steps, [steps, ...]."""
    state: dict[str, Any] = {}
    gradients = [case.gradient(step).double() for step in range(1, MOMENT_STEPS + 1)]
    return torch.stack([second_moment(gradient, state, case.decay_rate, case.eps) for gradient in gradients])


def is_near(seen: Tensor, wanted: Tensor) -> bool:
    """Return whether all numbers agree, each relative to itself; NaN agrees with NaN only."""
    if seen.shape != wanted.shape:
        raise ValueError("an estimate of another shape")
    # No number of a right estimate is negative. In a wrong one, numbers of both signs cancel down to rounding.
    largest = float(wanted.abs().max()) if bool((wanted < 0).any()) else 0.0
    return torch.allclose(seen.double(), wanted, rtol=TOLERANCE, atol=max(1e-42, TOLERANCE * largest), equal_nan=True)


def _say(seen: Tensor, wanted: Tensor) -> str:
    if not bool(seen.isfinite().all()):
        return "NaN or infinity in the estimate"
    ratio = seen / wanted
    least, most = float(ratio.min()), float(ratio.max())
    is_factor = most - least <= 1e-3 * most
    return f"{most:.4g} times as much" if is_factor else f"between {least:.3g} and {most:.3g} times as much"


def _with_visible_options(seed: int) -> list[MomentCase]:
    return [
        replace(case, decay_rate=visible.decay_rate, eps=visible.eps)
        for case, visible in zip(moment_cases(seed), moment_cases(VISIBLE_SEED), strict=True)
    ]


@dataclass(frozen=True)
class Kept:
    """What is kept from one step to the next.

    Attributes:
        case: The tensor.
        elements: Numbers in tensors of its state.
        repeats: Whether step 2 gives the same estimate once more from a copy of the state after step 1.
    """

    case: MomentCase
    elements: int
    repeats: bool

    @property
    def least(self) -> int:
        """Numbers of all row means and column means."""
        return torch.Size(self.case.shape[:-2]).numel() * sum(self.case.shape[-2:])

    @property
    def shape(self) -> str:
        """The shape, in words."""
        return " x ".join(map(str, self.case.shape))


MEANS = "{least} numbers of state for {shape}: row means and column means"

KEPT = Table[Kept](
    Misconception(
        "means_kept_outside",
        "You keep something outside of `state`, so the estimate changes if a checkpoint brings the state back. "
        "Keep the means and the count in `state` only.",
        shown_by=lambda kept: not kept.repeats,
        expected="step 2 once more, from a copy of the state after step 1: the same estimate",
        measured="another estimate",
    ),
    Misconception(
        "means_kept_elsewhere",
        "You keep the means elsewhere than in the `state` that your function receives. It comes back at the next step.",
        shown_by=lambda kept: kept.elements < kept.least,
        expected=MEANS,
        measured="{elements} numbers in tensors of its state",
    ),
    Misconception(
        "state_too_large",
        "You keep more than the two means. The next step needs nothing else.",
        shown_by=lambda kept: kept.elements > kept.least + MOST_COUNTERS,
        expected=MEANS,
        measured="{elements} numbers in tensors of its state",
    ),
)

OTHERWISE = "Step 1 differs, where beta is 0. Print the row means and the column means by themselves."
OTHERWISE_LATER = (
    "Step 1 is right. Look at what is kept, or counted, from one step to the next: print state after each."
)

TABLE = ReferenceTable(
    factored_second_moment,
    Misconception(
        "estimate_zero",
        "Your estimate is 0 everywhere, as it is if the column means are never updated. "
        "Look for the line that takes the new ones in.",
        {UNPACK: f"{UNPACK}; state['means'][1] = column = torch.zeros_like(column)"},
    ),
    Misconception(
        "row_means_missing",
        "Your estimate is NaN everywhere, as 0 / 0 is: the row means are 0 if no line of yours takes the new ones in "
        "before their mean divides.",
        {UNPACK: f"{UNPACK}; state['means'][0] = row = torch.zeros_like(row)"},
    ),
    *SECOND_MOMENT,
    Misconception(
        "update_returned",
        "You return the update. The estimate itself is asked for; the gradient is divided by its root later.",
        {ESTIMATE: f"gradient / ({ESTIMATE}).sqrt()"},
    ),
    Misconception(
        "root_returned",
        "You return the root of the estimate. The estimate itself is asked for; the root belongs to the update.",
        {ESTIMATE: f"({ESTIMATE}).sqrt()"},
    ),
    Misconception(
        "inverse_root_returned",
        "You return 1 over the root, as the function of transformers does. Return the estimate itself.",
        {ESTIMATE: f"({ESTIMATE}).rsqrt()"},
    ),
    Misconception(
        "step_raised_again",
        "You raise the step count once more in each step. The given line raises it, so your lines must not.",
        {STEP: 'state.get("step", -1) + 2'},
    ),
    Misconception(
        "visible_case_hard_coded",
        "You use the decay_rate and eps of the tensors in the notebook. Read those that your function receives.",
        on=_with_visible_options,
    ),
    run=estimates,
    cases=moment_cases,
    is_near=is_near,
)

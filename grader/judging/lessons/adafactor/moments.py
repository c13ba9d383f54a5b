"""Verdict on a second moment that is kept in rows and columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from grader.judging.lessons.adafactor.deviations import ESTIMATES, RESULTS, Deviation, pairs
from grader.judging.lessons.adafactor.second_moments import Estimate, SecondMoment
from grader.lessons.adafactor.moments import MOMENT_STEPS, MomentCase, moment_cases
from grader.observation import Observation
from grader.verdict import PASSED, UNRECOGNISED, Verdict

VISIBLE_SEED = 0
# All numbers are positive, so float32 keeps six digits of each; the smallest mistake changes one by 1e-3.
TOLERANCE = 1e-4
MOST_COUNTERS = 4  # a step count may be a tensor of one number


def judge_factored_moment(observation: Observation, seed: int) -> Verdict:
    """Compare every estimate, number by number, and the size of the state."""
    cases, settings = moment_cases(seed), observation.facts["settings"]
    if any(facts["is_gradient_changed"] for facts in settings):
        look_at = "a line that writes into the gradient: make a new tensor instead"
        return Verdict("gradient_changed", "the gradient as it was", "another gradient after the call", look_at)
    seen = [observation.tensors[str(number)] for number in range(len(cases))]
    for number, case in enumerate(cases):
        wanted = estimates(case, Estimate())
        for step in range(MOMENT_STEPS):
            if not is_near(seen[number][step], wanted[step]):
                return _explain(cases, seen, number, step)
    for number, (case, facts) in enumerate(zip(cases, settings, strict=True)):
        verdict = _judge_state(case, facts)
        if not is_near(observation.tensors[f"{number}.again"], estimates(case, Estimate())[1]):
            expected = "step 2 once more, from a copy of the state after step 1: the same estimate"
            look_at = "where the means are kept: in the state alone, which a checkpoint saves"
            return Verdict("means_kept_outside", expected, "another estimate", look_at)
        if verdict:
            return verdict
    measured = f"{len(cases)} tensors over {MOMENT_STEPS} steps, each from its row means and column means alone"
    return Verdict(PASSED, "the factored second moment", measured)


def estimates(case: MomentCase, recipe: Estimate) -> Tensor:
    """Return the estimates of all steps, [steps, ...]."""
    second, options = SecondMoment(recipe), (case.decay_rate, case.eps)
    steps = range(1, MOMENT_STEPS + 1)
    return torch.stack([second.update(case.gradient(step).double(), step, *options) for step in steps])


def is_near(seen: Tensor, wanted: Tensor) -> bool:
    """Tell whether all numbers agree, each relative to itself; NaN agrees with NaN only."""
    if seen.shape != wanted.shape:
        raise ValueError("an estimate of another shape")
    return torch.allclose(seen.double(), wanted, rtol=TOLERANCE, atol=1e-42, equal_nan=True)


def _explain(cases: Sequence[MomentCase], seen: Sequence[Tensor], number: int, step: int) -> Verdict:
    case, wanted = cases[number], estimates(cases[number], Estimate())
    shape = " x ".join(map(str, case.shape))
    expected = f"after step {step + 1}, the second moment of {shape} numbers (decay_rate {case.decay_rate:g})"
    measured = _say(seen[number][step].double(), wanted[step])
    if not seen[number].any():
        look_at = "the column means: a line of yours has to take the new ones in"
        return Verdict("estimate_zero", expected, "an estimate of zeros", look_at)
    if bool(seen[number].isnan().all()):
        look_at = "the row means: a line of yours has to take the new ones in before their mean divides"
        return Verdict("row_means_missing", expected, "NaN everywhere: zero divided by zero", look_at)
    scaled = _explain_factor(cases, seen, number)
    if scaled:
        return Verdict("estimate_scaled", expected, measured, scaled)
    known = (*ESTIMATES, *RESULTS)
    found = _recognise(cases, seen, number, ((deviation,) for deviation in known))
    found = found or _recognise(cases, seen, number, pairs(known))
    if found:
        return Verdict(found.code, expected, measured, found.look_at)
    visible = moment_cases(VISIBLE_SEED)[number]
    as_visible = replace(case, decay_rate=visible.decay_rate, eps=visible.eps)
    if is_near(seen[number], estimates(as_visible, Estimate())):
        look_at = "options that are right for other tensors: where are they read?"
        return Verdict("visible_case_hard_coded", expected, measured, look_at)
    if torch.allclose(seen[number].double(), estimates(case, Estimate()), rtol=1e-2):
        return Verdict("estimate_rounded", expected, measured, "the format of the means: float32, as the gradient is")
    look_at = "the row means and the column means by themselves, at step 1, where beta is 0"
    if step > 0:
        look_at = "step 1 is right: what is kept, or counted, from one step to the next? Print state after each"
    return Verdict(UNRECOGNISED, expected, measured, look_at)


def _say(seen: Tensor, wanted: Tensor) -> str:
    if not bool(seen.isfinite().all()):
        return "NaN or infinity in the estimate"
    ratio = seen / wanted
    least, most = float(ratio.min()), float(ratio.max())
    return (
        f"between {least:.3g} and {most:.3g} times as much"
        if most - least > 1e-3 * most
        else f"{most:.4g} times as much"
    )


def _recognise(
    cases: Sequence[MomentCase], seen: Sequence[Tensor], first: int, candidates: Iterable[tuple[Deviation, ...]]
) -> Deviation | None:
    fitting: Deviation | None = None
    for deviations in candidates:
        recipe = Estimate()
        for deviation in deviations:
            recipe = deviation.estimate(recipe)
        if is_near(seen[first], estimates(cases[first], recipe)):
            if all(is_near(own, estimates(case, recipe)) for own, case in zip(seen, cases, strict=True)):
                return deviations[0]
            fitting = fitting or deviations[0]
    return fitting


def _explain_factor(cases: Sequence[MomentCase], seen: Sequence[Tensor], number: int) -> str | None:
    """Tell a factor that every case shows, of the estimate or of the gradient."""
    factor = float((seen[number].double() / estimates(cases[number], Estimate())).flatten()[-1])
    if not 0 < factor < float("inf"):
        return None
    of_gradient = Estimate(gradient=factor**0.5)
    for own, case in zip(seen, cases, strict=True):
        if not is_near(own, factor * estimates(case, Estimate())) and not is_near(own, estimates(case, of_gradient)):
            return None
    return f"a factor of {factor:.4g} on the estimate, which is one of {factor**0.5:.4g} on the gradient"


def _judge_state(case: MomentCase, facts: Mapping[str, Any]) -> Verdict | None:
    matrices = torch.Size(case.shape[:-2]).numel()
    rows, columns, elements = case.shape[-2], case.shape[-1], facts["state_elements"]
    least = matrices * (rows + columns)
    kept = f"{least} numbers of state for {' x '.join(map(str, case.shape))}: row means and column means"
    measured = f"{elements} numbers in tensors of its state"
    if elements < least:
        look_at = "where the means are kept: the state that your function is handed comes back at the next step"
        return Verdict("means_kept_elsewhere", kept, measured, look_at)
    if elements > least + MOST_COUNTERS:
        look_at = "what the state keeps beside the two means: the next step needs nothing else"
        return Verdict("state_too_large", kept, measured, look_at)
    return None

"""Verdict on a learner's dynamic loss scaler: what it does to gradients, weights and scale, update by update."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from grader.judging.equivalence import compare
from grader.judging.lessons.mixed_precision.scale_rules import DEFAULT_SCALE, WRONG_RULES, follow
from grader.judging.lessons.mixed_precision.scaler_reference import Step, reference_steps
from grader.judging.vectors import tensors_of
from grader.lessons.mixed_precision.scales import ScalerCase, scaler_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict


def judge_scaled_updates(observation: Observation, seed: int) -> Verdict:
    """Compare every update of every setting with torch.amp.GradScaler's; the first miss is told."""
    cases = scaler_cases(seed)
    for setting, case in enumerate(cases):
        facts, tensors = observation.facts["settings"][setting], tensors_of(observation, setting)
        for update, step in enumerate(reference_steps(case)):
            verdict = _judge_update(_Seen(case, setting, update, facts, tensors), step)
            if verdict:
                return verdict
    steps = [step for case in cases for step in reference_steps(case)]
    skipped = sum(step.is_skipped for step in steps)
    measured = f"{len(steps)} updates, {skipped} of them skipped, with the scales and weights of torch.amp.GradScaler"
    return Verdict(PASSED, "the same history as torch.amp.GradScaler", measured)


@dataclass(frozen=True)
class _Seen:
    """What was seen of one update."""

    case: ScalerCase
    setting: int
    update: int
    facts: Mapping[str, Any]
    tensors: Mapping[str, Tensor]

    @property
    def steps(self) -> int:
        return int(self.facts["optimizer_steps"][self.update])

    @property
    def scale(self) -> float:
        return float(self.facts["scales"][self.update])

    @property
    def weights(self) -> Tensor:
        return self.tensors[f"weights.{self.update}"]

    @property
    def name(self) -> str:
        return f"update {self.update} (counted from 0)"


def _judge_update(seen: _Seen, step: Step) -> Verdict | None:
    if step.is_skipped:
        return _judge_skip(seen, step) or _judge_scale(seen, step)
    return _judge_step(seen, step) or _judge_scale(seen, step)


def _judge_skip(seen: _Seen, step: Step) -> Verdict | None:
    expected = f"no optimizer.step() at {seen.name}: a gradient is inf or NaN"
    if not seen.steps:
        return _judge_weights(seen, step, "weights that stay as they are")
    if bool(torch.isfinite(seen.weights).all()):
        if seen.update and torch.equal(seen.weights, seen.tensors[f"weights.{seen.update - 1}"]):
            look_at = "the weights are put back, but the step has moved the momentum: leave out the step itself"
            return Verdict("stepped_and_restored", expected, "a step, and the weights of before after it", look_at)
        if _is_partial(seen, step):
            look_at = "a step with the finite gradients alone is a step too: inf in one of them skips all"
            return Verdict("stepped_in_part", expected, "a step without that gradient, with all others", look_at)
        measured = "a step, with another gradient in the place of that one"
        look_at = "a gradient set to 0 still moves weights, by momentum and by decay: skip the step itself"
        return Verdict("stepped_on_replaced_gradient", expected, measured, look_at)
    code, look_at = "not_skipped", "a step with an infinite gradient: the weights stay NaN for good"
    first = seen.case.scaled_gradients(seen.update, step.scale_before)[0]
    if bool(torch.isfinite(first).all()):
        code = "infinity_missed"
        look_at = "which gradients are looked at, and for what: one NaN in the last of them is enough"
    elif len(set(seen.facts["scales"])) == 1:
        code, look_at = "static_scale", "a scale that never changes: this is the example, without its two other rules"
    elif seen.setting:
        code = "overflow_missed"
        look_at = "other histories have their infinities elsewhere: the gradients tell you, nothing else does"
    return Verdict(code, expected, "a step, and weights of NaN or inf after it", look_at)


def _is_partial(seen: _Seen, step: Step) -> bool:
    """Whether a step left out every parameter with inf or NaN as a whole, and no other one."""
    gradients = seen.case.scaled_gradients(seen.update, step.scale_before)
    parts = torch.split(seen.tensors[f"gradient.{seen.update}"], [gradient.numel() for gradient in gradients])
    return all(
        bool(part.any()) == bool(torch.isfinite(gradient).all())
        for part, gradient in zip(parts, gradients, strict=True)
    )


def _judge_step(seen: _Seen, step: Step) -> Verdict | None:
    expected = f"one optimizer.step() at {seen.name}, with the gradient divided by {step.scale_before:,.0f}"
    if seen.steps != 1:
        if not any(seen.facts["optimizer_steps"]):
            return _explain_no_steps(seen, expected)
        code, look_at = "skipped_without_infinity", "the condition of the skip: all gradients are finite here"
        if seen.steps > 1:
            code, look_at = "stepped_twice", "one update is one step: where is optimizer.step() called?"
        return Verdict(code, expected, f"{seen.steps} steps", look_at)
    gradient = seen.tensors[f"gradient.{seen.update}"]
    if not compare(gradient, step.gradient).is_equal:
        is_plain = len(set(seen.facts["scales"])) == 1
        return _explain_gradient(gradient, step, expected, is_plain=is_plain)
    return _judge_weights(seen, step, "the weights of that step")


def _explain_no_steps(seen: _Seen, expected: str) -> Verdict:
    start = torch.cat([weight.detach().flatten() for weight in seen.case.make_weights()])
    if compare(seen.tensors["weights.0"], start).relative_error <= 1e-6:
        return Verdict("never_stepped", expected, "no step in any update", "who calls optimizer.step()")
    look_at = "the optimizer moves the weights: it has a momentum, and a rate for each group"
    return Verdict("weights_moved_by_hand", expected, "no step, and yet other weights", look_at)


def _explain_gradient(gradient: Tensor, step: Step, expected: str, *, is_plain: bool) -> Verdict:
    comparison, scale = compare(gradient, step.gradient), step.scale_before
    measured = f"exactly {comparison.factor:,.6g} times that gradient"
    for factor, code, look_at in _wrong_divisors(step):
        if comparison.is_multiple(factor):
            return Verdict(code, expected, measured, look_at)
    known = (
        (scale, "not_unscaled", "the gradients still carry the scale: what undoes it before the step?"),
        (1 / scale, "unscaled_twice", "two divisions by the scale, one of them in the line above"),
        (scale**2, "scaled_again", "the gradients come scaled: they are to be divided"),
    )
    for factor, code, look_at in known:
        if comparison.is_multiple(factor) and is_plain and factor == scale:
            look_at = "nothing undoes the scale, and nothing adjusts it: what differs from an update without a scale?"
            return Verdict("plain_update", expected, measured, look_at)
        if comparison.is_multiple(factor):
            return Verdict(code, expected, measured, look_at)
    if abs(float(gradient.norm()) - 1) < 1e-3:
        look_at = "a clipping that is not asked for here"
        return Verdict("gradient_clipped", expected, f"{measured}, of norm 1", look_at)
    if not bool(gradient.any()):
        look_at = "what happens to .grad before optimizer.step()"
        return Verdict("gradient_cleared", expected, "no gradient at all", look_at)
    if comparison.residual <= 1e-4:
        look_at = f"which number leaves a factor of {comparison.factor:,.6g}: the divisor is the scale of this update"
        return Verdict("gradient_scaled", expected, measured, look_at)
    ratios = (gradient / step.gradient)[step.gradient != 0]
    if bool(((ratios - scale).abs() <= 1e-3 * scale).any()) and bool(((ratios - 1).abs() <= 1e-3).any()):
        look_at = "every gradient of every parameter group is to be divided"
        return Verdict("partly_unscaled", expected, "some gradients still carry the scale", look_at)
    measured = f"a gradient that differs from it by {comparison.relative_error:.0%}"
    return Verdict("other_gradient", expected, measured, "what your lines do to a gradient beside the division")


def _wrong_divisors(step: Step) -> Iterator[tuple[float, str, str]]:
    """Yield factors that a gradient keeps which is divided by another number than the scale that it came with."""
    scale = step.scale_before
    if step.scale_after != scale:
        look_at = "the scale may change only after the gradients are divided by it"
        yield scale / step.scale_after, "unscaled_by_the_next_scale", look_at
    if scale not in (1.0, DEFAULT_SCALE):
        look_at = "a division by 65,536: the divisor is the scale of this update"
        yield scale / DEFAULT_SCALE, "fixed_divisor", look_at


def _judge_weights(seen: _Seen, step: Step, expected: str) -> Verdict | None:
    if compare(seen.weights, step.weights).relative_error <= 1e-5:  # float32 sums of a few updates
        return None
    look_at = "the weights are the optimizer's: your function changes gradients and the scale only"
    return Verdict("weights_changed", f"{expected}, at {seen.name}", "other weights", look_at)


def _judge_scale(seen: _Seen, step: Step) -> Verdict | None:
    if seen.scale == step.scale_after:
        return None
    happened = "skipped" if step.is_skipped else "good"
    start = f"{seen.case.start_scale:,.0f}, growth after {seen.case.growth_interval}"
    expected = f"a scale of {step.scale_after:,.6g} after {seen.name}, a {happened} one (start {start})"
    measured = f"{seen.scale:,.6g}"
    code, look_at = _explain_scales(seen.case, seen.facts["scales"])
    return Verdict(code, expected, measured, look_at)


def _explain_scales(case: ScalerCase, scales: Sequence[float]) -> tuple[str, str]:
    for wrong in WRONG_RULES:
        followed = follow(wrong.rule, case.start_scale, case.growth_interval, case.updates, case.is_overflow)
        if list(scales) == followed:
            return wrong.code, wrong.look_at
    return "other_scale", "when the scale halves, when it doubles, and when the count begins again"

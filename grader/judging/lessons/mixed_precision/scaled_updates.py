"""Judges a learner's dynamic loss scaler: what it does to gradients, weights and scale, update by update."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import SimpleNamespace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from grader.judging.equivalence import RELATIVE_TOLERANCE, Comparison, compare
from grader.judging.misconceptions import Misconception, Table
from grader.judging.references import ReferenceTable
from grader.judging.vectors import tensors_of
from grader.lessons.mixed_precision.scaler_runs import observe_scaler
from grader.lessons.mixed_precision.scales import ScalerCase, scaler_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

DEFAULT_SCALE = 2.0**16  # the first scale of torch.amp.GradScaler
WEIGHT_TOLERANCE = 1e-5  # of float32 sums of a few updates


def scaled_update(scaler: SimpleNamespace, optimizer: torch.optim.Optimizer) -> None:
    """Do what torch.amp.GradScaler does with the scaled gradients of one update."""
    everything = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    parameters = [parameter for parameter in everything if parameter.grad is not None]
    if all(bool(parameter.grad.isfinite().all()) for parameter in parameters):
        for parameter in parameters:
            parameter.grad /= scaler.scale
        optimizer.step()
        scaler.good_updates += 1
    else:
        scaler.scale /= 2
        scaler.good_updates = 0
    if scaler.good_updates == scaler.growth_interval:
        scaler.scale, scaler.good_updates = scaler.scale * 2, 0


# The parts of the reference that misconceptions edit.
COUNT = "scaler.good_updates += 1"
BACK_OFF = "scaler.scale /= 2"
RESET = "scaler.good_updates = 0"
DUE = "scaler.good_updates == scaler.growth_interval"


def judge_scaled_updates(observation: Observation, seed: int) -> Verdict:
    """Compare every update of every setting with torch.amp.GradScaler's, and report the first that differs."""
    settings = observation.facts["settings"]
    for setting, case in enumerate(scaler_cases(seed)):
        seen, right = _history(settings[setting], tensors_of(observation, setting)), _right_history(case)
        for number in range(case.updates):
            update = Update(case, setting, number, seen, right)
            if update.part == "scale":
                return RULES.explain(
                    RULES.answer(seed, [facts["scales"] for facts in settings]),
                    expected=update.expected,
                    measured=f"{update.scale:,.6g}",
                    otherwise="Your scale follows other rules. Look at when it halves, when it doubles, and when the "
                    "count of good updates starts again.",
                )
            if update.part:
                return UPDATE.explain(
                    update,
                    expected=update.expected,
                    measured=MEASURED[update.part],
                    otherwise="Your step has another gradient. Look at what your lines do to .grad in addition to the "
                    "division.",
                )
    steps = [step.steps for case in scaler_cases(seed) for step in _right_history(case)]
    measured = f"{len(steps)} updates, {steps.count(0)} of them skipped, with GradScaler's scales and weights"
    return Verdict(PASSED, "the same history as torch.amp.GradScaler", measured)


class Seen(NamedTuple):
    """What a scaler did in one update: how often it stepped, with which gradient, and to which weights and scale."""

    steps: int
    gradient: Tensor | None
    weights: Tensor
    scale: float


def _history(facts: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> list[Seen]:
    kept = {name: value.cpu() for name, value in tensors.items()}
    return [
        Seen(steps, kept.get(f"gradient.{number}"), kept[f"weights.{number}"], scale)
        for number, (steps, scale) in enumerate(zip(facts["optimizer_steps"], facts["scales"], strict=True))
    ]


@lru_cache(maxsize=64)
def _right_history(case: ScalerCase) -> list[Seen]:
    return _history(*observe_scaler(scaled_update, case))


@dataclass(frozen=True, eq=False)
class Update:
    """One update; all before it are those of torch.amp.GradScaler.

    Attributes:
        case: Its setting.
        setting: The number of the setting.
        number: Which update, counted from 0.
        history: What the learner's scaler did in the whole setting.
        right: What GradScaler does.
    """

    case: ScalerCase
    setting: int
    number: int
    history: Sequence[Seen]
    right: Sequence[Seen]

    @cached_property
    def part(self) -> str:
        """What differs from GradScaler first: "steps", "gradient", "weights" or "scale"; empty where nothing does."""
        seen, right = self.history[self.number], self.right[self.number]
        if seen.steps != right.steps:
            return "steps"
        if right.gradient is not None and not self.comparison.is_equal:
            return "gradient"
        if not compare(seen.weights, right.weights).relative_error <= WEIGHT_TOLERANCE:
            return "weights"
        return "scale" if seen.scale != right.scale else ""

    @property
    def steps(self) -> int:
        """How often the optimizer stepped."""
        return self.history[self.number].steps

    @property
    def is_skip_missed(self) -> bool:
        """Whether the optimizer stepped although a gradient is inf or NaN."""
        return self.part == "steps" and not self.right[self.number].steps

    @property
    def is_finite(self) -> bool:
        """Whether the weights after it are finite."""
        return bool(self.history[self.number].weights.isfinite().all())

    @property
    def scale_before(self) -> float:
        """The scale that the gradients came with."""
        return self.history[self.number - 1].scale if self.number else self.case.start_scale

    @property
    def scale(self) -> float:
        """The learner's scale after it."""
        return self.history[self.number].scale

    @property
    def is_scale_constant(self) -> bool:
        """Whether the learner's scale never changes in this setting."""
        return {seen.scale for seen in self.history} == {self.case.start_scale}

    @cached_property
    def comparison(self) -> Comparison:
        """How the gradient relates to the right one, where there is one; a missing gradient counts as zero."""
        seen, right = self.history[self.number].gradient, self.right[self.number].gradient
        wanted = torch.ones(1) if right is None else right
        return compare(torch.zeros_like(wanted) if seen is None else seen, wanted)

    @property
    def is_unscaled_in_part(self) -> bool:
        """Whether some numbers of the gradient are right, and all others carry the scale."""
        seen, right = self.history[self.number].gradient, self.right[self.number].gradient
        if self.part != "gradient" or seen is None or right is None:
            return False
        ratios = (seen / right)[right != 0]
        is_right, is_scaled = ((ratios / factor - 1).abs() <= 1e-3 for factor in (1.0, self.scale_before))
        return bool((is_right | is_scaled).all())

    @property
    def expected(self) -> str:
        """What GradScaler does."""
        name, right = f"update {self.number + 1} (counted from 1)", self.right[self.number]
        if self.part == "scale":
            start = f"start {self.case.start_scale:,.0f}, growth after {self.case.growth_interval}"
            return f"a scale of {right.scale:,.6g} after {name}, {'good' if right.steps else 'skipped'} ({start})"
        if right.steps:
            return f"one optimizer.step() at {name}, with the gradient divided by {self.scale_before:,.0f}"
        return f"no optimizer.step() at {name}, and the same weights: a gradient is inf or NaN"


MEASURED = {
    "steps": "a step, and weights of NaN or inf after it",
    "gradient": "a gradient that differs from it",
    "weights": "other weights after it",
}
FACTOR = "exactly {comparison.factor:,.6g} times that gradient"


def _multiplied(code: str, diagnosis: str, factor: Callable[[Update], float]) -> Misconception[Update]:
    """Return the misconception that steps on `factor` times the right gradient."""
    return Misconception(
        code,
        diagnosis,
        shown_by=lambda update: update.part == "gradient" and update.comparison.is_multiple(factor(update)),
        measured=FACTOR,
    )


UPDATE = Table[Update](
    Misconception(
        "stepped_and_repaired",
        "You step although a gradient is inf or NaN, and repair gradients or weights. The step changes the momentum: "
        "leave it out.",
        shown_by=lambda update: update.is_skip_missed and update.is_finite,
        measured="a step, and finite weights after it",
    ),
    Misconception(
        "static_scale",
        "You divide and step whatever the gradients hold, and never change the scale. That is the static example: add "
        "the skip, the back-off and the count.",
        shown_by=lambda update: update.is_skip_missed and update.is_scale_constant,
    ),
    Misconception(
        "overflow_missed",
        "You skip the right updates of the first setting, but step on inf or NaN here. Decide by all gradients of the "
        "update, and by nothing else.",
        shown_by=lambda update: update.is_skip_missed and update.setting > 0,
    ),
    Misconception(
        "not_skipped",
        "You step with an infinite gradient, so the weights stay NaN for good. Step only where all gradients are "
        "finite.",
        shown_by=lambda update: update.is_skip_missed,
    ),
    Misconception(
        "stepped_twice",
        "You step {steps} times in one update. Look at which loop your optimizer.step() is in.",
        shown_by=lambda update: update.part == "steps" and update.steps > 1,
        measured="{steps} steps",
    ),
    Misconception(
        "never_stepped",
        "You never step. Call optimizer.step() once the gradients are divided: it has a momentum, and a rate for each "
        "group.",
        shown_by=lambda update: (
            update.part == "steps" and not update.steps and not any(seen.steps for seen in update.history)
        ),
        measured="no step in any update",
    ),
    Misconception(
        "skipped_without_infinity",
        "You skip an update whose gradients are all finite. Look at the condition of the skip.",
        shown_by=lambda update: update.part == "steps" and not update.steps,
        measured="no step",
    ),
    Misconception(
        "plain_update",
        "You step on scaled gradients and never change the scale, as in an update without a scaler. Divide by the "
        "scale, then write the two branches.",
        shown_by=lambda update: update.is_scale_constant and update.comparison.is_multiple(update.scale_before),
        measured=FACTOR,
    ),
    _multiplied(
        "not_unscaled",
        "You step on gradients that still carry the scale. Divide them by it before the step.",
        lambda update: update.scale_before,
    ),
    _multiplied(
        "unscaled_twice",
        "You divide the gradients by the scale twice. Look for a second division, or a power of the scale.",
        lambda update: 1 / update.scale_before,
    ),
    _multiplied(
        "fixed_divisor",
        "You divide by 65,536 in every update. Divide by `scaler.scale`, which changes.",
        lambda update: update.scale_before / DEFAULT_SCALE,
    ),
    Misconception(
        "gradient_scaled",
        "You scale the gradient by another number than 1 / `scaler.scale`. Look at every line that "
        "changes .grad, zero_grad() included.",
        shown_by=lambda update: update.part == "gradient" and update.comparison.residual <= RELATIVE_TOLERANCE,
        measured=FACTOR,
    ),
    Misconception(
        "partly_unscaled",
        "You divide some gradients and leave others scaled. Divide those of every parameter group.",
        shown_by=lambda update: update.is_unscaled_in_part,
        measured="some gradients still carry the scale",
    ),
    Misconception(
        "weights_changed",
        "You change weights outside the optimizer's step. Change only gradients and the scaler.",
        shown_by=lambda update: update.part == "weights",
    ),
)

RULES = ReferenceTable(
    scaled_update,
    Misconception(
        "scale_never_changes",
        "You never change the scale. Halve it where you skip, and count good updates where you step.",
        {COUNT: "pass", BACK_OFF: "pass"},
    ),
    Misconception(
        "never_falls",
        "You never lower the scale. Halve it where you skip an update.",
        {BACK_OFF: "pass"},
        variants=[{BACK_OFF: "return"}],
    ),
    Misconception(
        "count_not_reset",
        "You keep the count of good updates through an inf. Only good updates in a row count, so set it to 0.",
        {RESET: "pass"},
    ),
    Misconception(
        "infinity_counted",
        "You count skipped updates as good ones. Set the count to 0 where you skip.",
        {RESET: COUNT},
    ),
    Misconception(
        "count_starts_at_one",
        "You start the count of good updates at 1 after an inf. The skipped update is not a good one: start at 0.",
        {RESET: "scaler.good_updates = 1", DUE: DUE.replace("==", ">=")},
        variants=[{RESET: "scaler.good_updates = 1"}],
    ),
    Misconception(
        "never_recovers",
        "You never count good updates, so the scale can only fall. Raise `scaler.good_updates` where you step.",
        {COUNT: "pass"},
    ),
    Misconception(
        "grows_every_time",
        "You double the scale at every good update. Count them: the last lines double it after `growth_interval`.",
        {DUE: "scaler.good_updates"},
    ),
    Misconception(
        "falls_too_far",
        "You divide the scale by 4 where you skip. Halve it once.",
        {BACK_OFF: "scaler.scale /= 4"},
    ),
    run=lambda scaled_update, case: observe_scaler(scaled_update, case)[0]["scales"],
    cases=scaler_cases,
)

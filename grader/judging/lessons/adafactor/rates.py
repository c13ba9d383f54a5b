"""Verdict on the learning rate that each form of Adafactor takes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from grader.lessons.adafactor.rates import FORMS, RateCase, rate_cases
from grader.observation import Observation
from grader.verdict import PASSED, UNRECOGNISED, Verdict

VISIBLE_SEED = 0
TOLERANCE = 1e-6  # of plain float arithmetic; a rate may be computed in float32
SMALLEST_SCALE = 1e-3


@dataclass(frozen=True)
class Rate:
    """The decisions in a learning rate; as they stand, they are right.

    Attributes:
        scaled: The forms that scale by the weight.
        relative: The forms whose rate falls with the step.
        takes_lr: Whether "torch" takes the lr as its bound, and whether "transformers" takes it instead of 1e-2.
        floor: "largest" of both, "none", or "added".
        fall: "root" of the step, "step" itself, "constant", or one over the "root_of_next" step.
        bound: The "smaller" or the "larger" of bound and fall, or their "product".
        warm_up: Rate of the first step of the warm-up; or -1 for none.
        is_scale_squared: Whether the mean square stands for its root.
    """

    scaled: tuple[str, ...] = ("transformers", "warm-up", "scaled", "torch")
    relative: tuple[str, ...] = ("transformers", "warm-up", "torch")
    bound_of_torch: str = "lr"
    bound_of_transformers: str = "1e-2"
    floor: str = "largest"
    fall: str = "root"
    bound: str = "smaller"
    warm_up: str = "grows"
    is_scale_squared: bool = False

    def of(self, case: RateCase) -> float:
        """Return the rate that this way gives."""
        rate = case.lr
        if case.form in self.relative:
            falls = {"root": case.step**-0.5, "step": 1 / case.step, "root_of_next": (case.step + 1) ** -0.5}
            rate = self._joined(self._bound(case), falls.get(self.fall, 1.0))
        if case.form in self.scaled:
            size = case.weight_rms**2 if self.is_scale_squared else case.weight_rms
            floors = {"none": size, "added": size + SMALLEST_SCALE}
            rate *= floors.get(self.floor, max(SMALLEST_SCALE, size))
        return rate

    def _bound(self, case: RateCase) -> float:
        if case.form == "torch":
            return case.lr if self.bound_of_torch == "lr" else 1e-2
        if case.form == "warm-up" and self.warm_up == "grows":
            return 1e-6 * case.step
        if case.form == "warm-up" and self.warm_up == "constant":
            return 1e-6
        return 1e-2 if self.bound_of_transformers == "1e-2" else case.lr

    def _joined(self, bound: float, fall: float) -> float:
        if self.bound == "product":
            return bound * fall
        return max(bound, fall) if self.bound == "larger" else min(bound, fall)


RIGHT = Rate()
_SCALED, _RELATIVE = RIGHT.scaled, RIGHT.relative
MISTAKES: tuple[tuple[str, str, dict[str, object]], ...] = (
    ("trainer_scaled", "the Trainer sets scale_parameter=False: its rate is lr itself", {"scaled": FORMS}),
    (
        "trainer_relative",
        "the Trainer sets relative_step=False: its rate is lr itself",
        {"relative": ("Trainer", *_RELATIVE)},
    ),
    (
        "trainer_like_transformers",
        "the Trainer sets both options to False",
        {"scaled": FORMS, "relative": ("Trainer", *_RELATIVE)},
    ),
    (
        "transformers_for_all",
        "one row of the table for all forms: which options does each form set?",
        {"scaled": FORMS, "relative": FORMS, "bound_of_torch": "1e-2", "warm_up": "none"},
    ),
    (
        "torch_like_trainer",
        "torch has no option for it: it always scales, and its rate falls",
        {"scaled": _SCALED[:3], "relative": _RELATIVE[:2]},
    ),
    ("torch_not_scaled", "torch always scales by the weight", {"scaled": _SCALED[:3]}),
    (
        "torch_not_relative",
        "torch's lr is a bound: the rate is the smaller of lr and 1 / sqrt(step)",
        {"relative": _RELATIVE[:2]},
    ),
    ("bound_of_torch_fixed", "torch's bound is the lr that it is given, and not 1e-2", {"bound_of_torch": "1e-2"}),
    (
        "lr_in_relative_step",
        "with relative_step, transformers takes no lr: its bound is 1e-2",
        {"bound_of_transformers": "lr"},
    ),
    ("nothing_scaled", "scale_parameter: the larger of 1e-3 and the RMS of the weight", {"scaled": ()}),
    ("nothing_relative", "relative_step: 1 / sqrt(step), with a bound", {"relative": ()}),
    ("lr_for_all", "which options does each form set? See the table", {"scaled": (), "relative": ()}),
    ("scaled_form_relative", "the form 'scaled' has relative_step=False", {"relative": ("scaled", *_RELATIVE)}),
    (
        "scaled_form_not_scaled",
        "the form 'scaled' has scale_parameter=True",
        {"scaled": ("transformers", "warm-up", "torch")},
    ),
    ("warm_up_left_out", "warmup_init: the bound starts at 1e-6, and grows by it at each step", {"warm_up": "none"}),
    ("warm_up_does_not_grow", "warmup_init: the bound is 1e-6 times the step", {"warm_up": "constant"}),
    ("no_smallest_scale", "a weight of zero: the scale is at least 1e-3", {"floor": "none"}),
    ("smallest_scale_added", "the scale: the larger of 1e-3 and the RMS, not their sum", {"floor": "added"}),
    ("root_of_step_forgotten", "the rate falls with the root of the step", {"fall": "step"}),
    (
        "step_counted_from_zero",
        "steps are counted from 1: the first rate is bounded by 1 / sqrt(1)",
        {"fall": "root_of_next"},
    ),
    ("fall_left_out", "the bound holds at first; late, 1 / sqrt(step) is smaller", {"fall": "constant"}),
    ("larger_for_smaller", "a bound: the smaller of both numbers", {"bound": "larger"}),
    ("bound_multiplied", "a bound: the smaller of both numbers, not their product", {"bound": "product"}),
    ("mean_square_for_rms", "weight_rms is the root already", {"is_scale_squared": True}),
)


def judge_adafactor_rates(observation: Observation, seed: int) -> Verdict:
    """Compare every rate, and name what explains a miss."""
    cases, answers = rate_cases(seed), observation.facts["rates"]
    for case, answer in zip(cases, answers, strict=True):
        truth = RIGHT.of(case)
        if not _is_near(answer, truth):
            code, look_at = _recognise(cases, answers)
            expected = f"a rate of {truth:.7g} for {case.form!r} at step {case.step}, lr {case.lr:g}"
            return Verdict(code, f"{expected}, weight_rms {case.weight_rms:g}", f"{answer:.7g}", look_at)
    return Verdict(PASSED, "the rate of every form", f"{len(cases)} rates of {len(FORMS)} forms")


def _recognise(cases: Sequence[RateCase], answers: Sequence[float]) -> tuple[str, str]:
    for code, look_at, changes in MISTAKES:
        if _explains(replace(RIGHT, **changes), cases, answers):  # type: ignore[arg-type]
            return code, look_at
    for (code, look_at, one), (_, _, other) in itertools.combinations(MISTAKES, 2):
        changes = one | other
        if len(changes) == len(one) + len(other) and _explains(replace(RIGHT, **changes), cases, answers):  # type: ignore[arg-type]
            return code, look_at
    if all(_is_near(answer, RIGHT.of(case)) for case, answer in zip(rate_cases(VISIBLE_SEED), answers, strict=True)):
        return "visible_case_hard_coded", "numbers that are right for other steps: what does your answer depend on?"
    if len(set(answers)) == 1:
        return "same_for_all", "your answer is the same for all steps and forms: what does it read?"
    ratios = [answer / RIGHT.of(case) for case, answer in zip(cases, answers, strict=True)]
    if max(ratios) - min(ratios) <= TOLERANCE * abs(max(ratios)):
        return "rate_scaled", f"a factor of {ratios[0]:.4g} on every rate"
    missed = next(
        case.form for case, answer in zip(cases, answers, strict=True) if not _is_near(answer, RIGHT.of(case))
    )
    return UNRECOGNISED, f"the row {missed!r} of the table, one option after the other"


def _explains(rate: Rate, cases: Sequence[RateCase], answers: Sequence[float]) -> bool:
    return all(_is_near(answer, rate.of(case)) for case, answer in zip(cases, answers, strict=True))


def _is_near(answer: float, value: float) -> bool:
    return abs(answer - value) <= TOLERANCE * abs(value)

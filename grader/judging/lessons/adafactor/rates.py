"""Judges the learning rate that each form of Adafactor takes."""

from __future__ import annotations

from collections.abc import Callable

from grader.judging.misconceptions import Misconception
from grader.judging.nearness import within
from grader.judging.references import ReferenceTable, hard_coded
from grader.lessons.adafactor.rates import FORMS, RateCase, rate_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

TOLERANCE = 1e-6  # of plain float arithmetic; a rate may be computed in float32


def adafactor_rate(form: str, lr: float, step: int, weight_rms: float) -> float:
    """Return the rate that a form takes at a step, counted from 1."""
    bounds = {"transformers": 1e-2, "warm-up": 1e-6 * step, "torch": lr}
    scaled = ["transformers", "warm-up", "scaled", "torch"]
    rate = lr
    if form in bounds:
        rate = min(bounds[form], 1 / step**0.5)
    if form in scaled:
        rate *= max(1e-3, weight_rms)
    return rate


# The parts of the reference that misconceptions edit.
TRANSFORMERS = '"transformers": 1e-2'
WARM_UP = ', "warm-up": 1e-6 * step'
TORCH = ', "torch": lr}'
SCALED = '["transformers", "warm-up", "scaled", "torch"]'
EVERY_FORM = "[form]"
UNSCALED_TORCH = '["transformers", "warm-up", "scaled"]'
RELATIVE = "min(bounds[form], 1 / step**0.5)"
FALL = "1 / step**0.5"
SCALE = "max(1e-3, weight_rms)"
RELATIVE_TRAINER = {TORCH: f'{TORCH[:-1]}, "Trainer": 1e-2}}'}
IF_SCALED = "if form in scaled:"
IF_RELATIVE = "if form in bounds:"


def judge_adafactor_rates(observation: Observation, seed: int) -> Verdict:
    """Compare every rate, and name what explains a miss."""
    answer = TABLE.answer(seed, observation.facts["rates"])
    if answer.is_right:
        return Verdict(PASSED, "the rate of every form", f"{len(answer.values)} rates of {len(FORMS)} forms")
    case: RateCase = answer.case
    return TABLE.explain(
        answer,
        expected=f"a rate of {answer.truth:.7g} for {case.form!r} at step {case.step}, lr {case.lr:g}, "
        f"weight_rms {case.weight_rms:g}",
        measured=f"{answer.value:.7g}",
        otherwise=f"Your rate of {case.form!r} differs, but not in a common way. Go through its row of the table, "
        "one option after the other.",
    )


def _run(rate: Callable[[str, float, int, float], float], case: RateCase) -> float:
    return rate(case.form, case.lr, case.step, case.weight_rms)


TABLE = ReferenceTable(
    adafactor_rate,
    Misconception(
        "trainer_scaled",
        "You scale the Trainer's rate by the weight. The Trainer sets scale_parameter=False, so its rate is lr.",
        {SCALED: EVERY_FORM},
    ),
    Misconception(
        "trainer_relative",
        "You let the Trainer's rate fall. The Trainer sets relative_step=False, so its rate is lr.",
        RELATIVE_TRAINER,
        variants=[{TORCH: f'{TORCH[:-1]}, "Trainer": lr}}'}],
    ),
    Misconception(
        "trainer_like_transformers",
        "You use the defaults of transformers for the Trainer. It sets both options to False, so its rate is lr.",
        RELATIVE_TRAINER | {SCALED: EVERY_FORM},
    ),
    Misconception(
        "transformers_for_all",
        "You use the defaults of transformers for every form. Look at the row of each form in the table.",
        {RELATIVE: f"min(1e-2, {FALL})", IF_RELATIVE: "if True:", SCALED: EVERY_FORM},
    ),
    Misconception(
        "torch_like_trainer",
        "You take lr as the rate of torch. Its Adafactor always scales by the weight, and its rate falls.",
        {TORCH: "}", SCALED: UNSCALED_TORCH},
    ),
    Misconception(
        "torch_not_scaled",
        "You do not scale the rate of torch. Its Adafactor always scales by the weight and has no option for it.",
        {SCALED: UNSCALED_TORCH},
    ),
    Misconception(
        "torch_not_relative",
        "You let torch's rate start at lr and stay there. lr is only a bound: the rate is the smaller of lr and "
        "1 / sqrt(step), times the scale.",
        {TORCH: "}"},
    ),
    Misconception(
        "bound_of_torch_fixed",
        "You bound torch's rate by 1e-2, which is its default. Its bound is the lr that it receives.",
        {TORCH: ', "torch": 1e-2}'},
    ),
    Misconception(
        "lr_in_relative_step",
        "You bound the rate of transformers by lr. With relative_step it takes no lr, and its bound is 1e-2.",
        {TRANSFORMERS: '"transformers": lr'},
    ),
    Misconception(
        "lr_for_all",
        "You return lr for every form. Look at which options each row of the table turns on.",
        {IF_SCALED: "if False:", IF_RELATIVE: "if False:"},
    ),
    Misconception(
        "nothing_scaled",
        "You scale no rate. With scale_parameter, the rate is multiplied by the larger of 1e-3 and the RMS of the "
        "weight.",
        {IF_SCALED: "if False:"},
    ),
    Misconception(
        "nothing_relative",
        "You let no rate fall. With relative_step, the rate is the smaller of a bound and 1 / sqrt(step).",
        {IF_RELATIVE: "if False:"},
    ),
    Misconception(
        "scaled_form_relative",
        "You let the rate of 'scaled' fall. This form has relative_step=False, so it starts from lr.",
        {TORCH: f'{TORCH[:-1]}, "scaled": 1e-2}}'},
        variants=[{TORCH: f'{TORCH[:-1]}, "scaled": lr}}'}],
    ),
    Misconception(
        "scaled_form_not_scaled",
        "You do not scale the rate of 'scaled'. This form has scale_parameter=True.",
        {SCALED: '["transformers", "warm-up", "torch"]'},
    ),
    Misconception(
        "warm_up_left_out",
        "You start the warm-up from 1e-2. With warmup_init, its bound is 1e-6 times the step.",
        {WARM_UP: ', "warm-up": 1e-2'},
        variants=[{WARM_UP: ', "warm-up": 1e-2 * step'}],
    ),
    Misconception(
        "warm_up_not_scaled",
        "You do not scale the rate of 'warm-up'. It is scaled by the weight, as the row of the table says.",
        {SCALED: '["transformers", "scaled", "torch"]'},
    ),
    Misconception(
        "warm_up_does_not_grow",
        "You keep the bound of 'warm-up' at 1e-6. It grows by 1e-6 at each step.",
        {WARM_UP: ', "warm-up": 1e-6'},
    ),
    Misconception(
        "no_smallest_scale",
        "You let the scale fall to 0, so a weight of zeros never moves. The scale is at least 1e-3.",
        {SCALE: "weight_rms"},
    ),
    Misconception(
        "mean_square_for_rms",
        "You scale by the mean square. weight_rms is its root, and the scale takes it as it is.",
        {SCALE: "max(1e-3, weight_rms**2)"},
    ),
    Misconception(
        "smaller_scale",
        "You take the smaller of 1e-3 and the RMS. 1e-3 is a lower bound of the scale: take the larger.",
        {SCALE: "min(1e-3, weight_rms)"},
    ),
    Misconception(
        "scale_not_multiplied",
        "You add the scale to the rate, or divide by it. Multiply the rate by the scale.",
        {"rate *=": "rate +="},
        variants=[{"rate *=": "rate /="}],
    ),
    Misconception(
        "constants_exchanged",
        "You exchange 1e-2 and 1e-3. A relative rate is at most 1e-2, and a scale is at least 1e-3.",
        {TRANSFORMERS: '"transformers": 1e-3', SCALE: "max(1e-2, weight_rms)"},
        variants=[{TRANSFORMERS: '"transformers": 1e-3'}, {SCALE: "max(1e-2, weight_rms)"}],
    ),
    Misconception(
        "root_of_step_forgotten",
        "You divide by the step. The rate falls with the root of the step.",
        {FALL: "1 / step"},
    ),
    Misconception(
        "step_counted_from_zero",
        "You add 1 to the step, or take 1 off. Steps are counted from 1, so the first rate is at most 1 / sqrt(1).",
        {FALL: "1 / (step + 1) ** 0.5"},
        variants=[{FALL: "1 / max(1, step - 1) ** 0.5"}],
    ),
    Misconception(
        "decay_rate_for_root",
        "You let the rate fall with step**-0.8, as the weight of a new square does. The rate falls with step**-0.5.",
        {FALL: "step**-0.8"},
    ),
    Misconception(
        "fall_left_out",
        "You leave out 1 / sqrt(step), for every form or for the warm-up. Late in training it is below the bound.",
        {RELATIVE: "bounds[form]"},
        variants=[{FALL: f'(1 / step**0.5 if form != "warm-up" else {cap})'} for cap in (1e-2, 1.0)],
    ),
    Misconception(
        "larger_for_smaller",
        "You take the larger of the bound and 1 / sqrt(step). A bound is an upper limit: take the smaller.",
        {RELATIVE: f"max(bounds[form], {FALL})"},
    ),
    Misconception(
        "bound_multiplied",
        "You multiply the bound by 1 / sqrt(step). Take the smaller of both.",
        {RELATIVE: f"bounds[form] * {FALL}"},
    ),
    hard_coded(rate_cases),
    Misconception(
        "same_for_all",
        "You return one rate for each form, whatever the step and the weight. Compute it from the arguments.",
        shown_by=lambda answer: len(set(answer.values)) <= len(FORMS),
    ),
    run=_run,
    cases=rate_cases,
    is_near=within(relative=TOLERANCE),
)

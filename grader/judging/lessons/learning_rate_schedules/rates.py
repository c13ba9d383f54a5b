"""Judges the learning rate at every update of a run, by six schedules."""

from __future__ import annotations

import math
from collections.abc import Callable

from grader.judging.lessons.learning_rate_schedules.histories import explain_rates
from grader.judging.misconceptions import Misconception
from grader.judging.nearness import within
from grader.judging.references import ReferenceTable
from grader.lessons.learning_rate_schedules.rates import SCHEDULES, RunCase, run_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

RateAt = Callable[[str, int, int, int, float], float]


def rate_at(schedule: str, update: int, updates: int, warm_up: int, peak: float) -> float:
    """Return the learning rate of an update, counted from 0."""
    if update < warm_up:
        return peak * update / warm_up
    done = (update - warm_up) / (updates - warm_up)
    last_fifth = updates // 5
    factors: dict[str, float] = {
        "linear": 1 - done,
        "cosine": 0.5 + 0.5 * math.cos(math.pi * done),
        "exponential": 0.01**done,
        "step": 0.1 ** math.floor(3 * done),
        "inverse_square_root": math.sqrt(warm_up / max(update, 1)),
        "wsd": min(1.0, (updates - update) / last_fifth),
    }
    return peak * factors[schedule]


def judge_learning_rates(observation: Observation, seed: int) -> Verdict:
    """Compare all rates; report the first schedule that differs, at its first update that does."""
    answer = TABLE.answer(seed, observation.facts["answers"])
    for schedule in SCHEDULES:
        part = answer.part(schedule)
        if part.is_right:
            continue
        case: RunCase = part.case
        update, right, given = next(
            (update, right, given)
            for update, (right, given) in enumerate(zip(part.truth, part.value, strict=True))
            if not is_near(given, right)
        )
        place = f"{case.updates} updates, {case.warm_up} of them warm-up, peak {case.peak:g}"
        digits = next((count for count in (4, 6, 9) if f"{right:.{count}g}" != f"{given:.{count}g}"), 17)
        expected = f'{right:.{digits}g} at update {update}, by the schedule "{schedule}" ({place})'
        measured = f"{given:.{digits}g}"
        code, diagnosis = explain_rates(part, part.truth, part.value, LOOK_AT[schedule], case.warm_up)
        verdict = TABLE.judge(answer, expected, measured) or TABLE.judge(part, expected, measured)
        return verdict or Verdict(code, expected, measured, diagnosis)
    return Verdict(PASSED, "", f"{len(SCHEDULES)} schedules right at every update of {len(answer.values)} runs")


def _run(rate_at: RateAt, case: RunCase) -> dict[str, list[float]]:
    arguments = (case.updates, case.warm_up, case.peak)
    return {name: [rate_at(name, update, *arguments) for update in range(case.updates)] for name in SCHEDULES}


LOOK_AT = {
    "linear": "Compute your rate at `warm_up` and at `updates`: it should be the peak and 0.",
    "cosine": "Compute your rate at `warm_up`, halfway from there to `updates`, and at `updates`: it should be the "
    "peak, half of it, and 0.",
    "exponential": "Compute your rate at `warm_up` and at `updates`: it should be the peak and 1 % of it, with one "
    "factor from each update to the next.",
    "step": "List your rates: the first third after the warm-up has the peak, the next a tenth, the last a hundredth.",
    "inverse_square_root": "Compute your rate at `warm_up` and at `4 * warm_up`: it should be the peak and half of it.",
    "wsd": "Compute your rate where the last fifth of all updates begins, in its middle, and at `updates`: it should "
    "be the peak, half of it, and 0.",
}
is_near = within(relative=1e-6, absolute=1e-12)
WARM_UP = "return peak * update / warm_up"
DONE = "(update - warm_up) / (updates - warm_up)"
COSINE = "0.5 + 0.5 * math.cos(math.pi * done)"
ROOT = "math.sqrt(warm_up / max(update, 1))"
STEP = "math.floor(3 * done)"
WSD = "min(1.0, (updates - update) / last_fifth)"

TABLE = ReferenceTable(
    rate_at,
    Misconception(
        "constant_rate",
        "You return the peak at every update. Look at what the table says of the schedule that you are asked for.",
        {WARM_UP: "return peak", "return peak * factors[schedule]": "return peak"},
    ),
    Misconception(
        "factor_returned",
        "You return the share of the peak. Multiply it by `peak`.",
        {WARM_UP: "return update / warm_up", "peak * factors[schedule]": "factors[schedule]"},
    ),
    Misconception(
        "warm_up_one_update_early",
        "You count the update that is about to be made. Updates are counted from 0: the first has the rate 0.",
        {WARM_UP: "return peak * (update + 1) / warm_up"},
        variants=[{WARM_UP: "return peak * (update + 1) / (warm_up + 1)"}],
    ),
    Misconception(
        "progress_counts_the_warm_up",
        "You measure progress from the start of the run, so the rate drops at the end of the warm-up. "
        "Measure it from the end of the warm-up.",
        {DONE: "update / updates"},
    ),
    Misconception(
        "divided_by_all_updates",
        "You divide the updates since the warm-up by all updates, so the rate falls too slowly. Divide them by the "
        "number of updates that follow the warm-up.",
        {DONE: "(update - warm_up) / updates"},
    ),
    Misconception(
        "lowest_rate_at_the_last_update",
        "You reach the lowest rate at the last update. The table says at update `updates`, which is one later.",
        {DONE: "(update - warm_up) / (updates - warm_up - 1)"},
        variants=[
            {WSD: "min(1.0, (updates - update - 1) / last_fifth)"},
            {WSD: "min(1.0, (updates - update - 1) / (last_fifth - 1))"},
        ],
    ),
    Misconception(
        "whole_period_of_the_cosine",
        "You run through a whole period of the cosine, so the rate comes back to the peak. Take half a period.",
        {COSINE: "0.5 + 0.5 * math.cos(2 * math.pi * done)"},
    ),
    Misconception(
        "quarter_of_the_cosine",
        "You use a quarter of the cosine, which falls steepest at its end. Half a period falls from 1 to -1: shift and "
        "halve it.",
        {COSINE: "math.cos(math.pi * done / 2)"},
    ),
    Misconception(
        "exponent_base_e",
        "Your rate ends at 37 % of the peak: the exponential of minus the progress. "
        "Choose the factor so that 1 % is left at update `updates`.",
        {"0.01**done": "math.exp(-done)"},
    ),
    Misconception(
        "one_percent_at_each_update",
        "You multiply by the same factor at every update, however long the run is. The factor is a root of 0.01: "
        "all of them together make 1 %.",
        {"0.01**done": "0.01 ** (update - warm_up)"},
        variants=[{"0.01**done": f"{factor} ** (update - warm_up)"} for factor in (0.9, 0.95, 0.99)],
    ),
    Misconception(
        "steps_of_the_whole_run",
        "You take the thirds of the whole run. The table means the updates that follow the warm-up.",
        {STEP: "(3 * update // updates)"},
        variants=[{STEP: "(update // (updates // 3))"}],
    ),
    Misconception(
        "steps_not_at_thirds",
        "You divide the rate at other places than after each third. Count how many thirds are complete.",
        {STEP: "round(3 * done)"},
        variants=[
            {STEP: text}
            for text in (
                *("math.ceil(3 * done)", "math.floor(2 * done)", "(3 * done)"),
                *(f"(3 * (update - warm_up {sign} 1) // (updates - warm_up))" for sign in "+-"),
                "max(0, 3 * (update - warm_up - 1) // (updates - warm_up))",
            )
        ],
    ),
    Misconception(
        "root_without_the_warm_up",
        "Your inverse square root is below the peak at update `warm_up`. Make it proportional to 1 over the root of "
        "`update`, with the constant that gives the peak there.",
        {ROOT: "1 / math.sqrt(max(update, 1))"},
        variants=[
            {ROOT: "math.sqrt(warm_up / (update + 1))"},
            {
                WARM_UP: "return peak * update / warm_up ** (1.5 if schedule == 'inverse_square_root' else 1)",
                ROOT: "1 / math.sqrt(max(update, 1))",
            },
        ],
    ),
    Misconception(
        "root_counted_from_the_peak",
        "You count updates from the end of the warm-up. The root is of the update's own number, so that the rate has "
        "halved after four warm-ups.",
        {ROOT: "1 / math.sqrt(update - warm_up + 1)"},
    ),
    Misconception(
        "constant_after_the_warm_up",
        "You keep the inverse square root constant after the warm-up, as a published essay has it. That is where its "
        "decay starts.",
        {ROOT: "1.0"},
    ),
    Misconception(
        "fifth_of_the_rest",
        "You let the decay take a fifth of the updates after the warm-up. The table means a fifth of all updates.",
        {"updates // 5": "(updates - warm_up) / 5"},
        variants=[{"updates // 5": "(updates - warm_up) // 5"}],
    ),
    Misconception(
        "wsd_decays_by_a_cosine",
        "Your WSD falls by a cosine, the default of transformers. It falls by the same amount at each update: "
        "decay_type='linear'.",
        {WSD: "0.5 - 0.5 * math.cos(math.pi * min(1.0, (updates - update) / last_fifth))"},
    ),
    Misconception(
        "wsd_drops_into_its_decay",
        "Your rate drops where the decay begins: the share that is left is that of the whole run. "
        "Divide by the length of the decay.",
        {WSD: "1.0 if updates - update > last_fifth else (updates - update) / updates"},
        variants=[{WSD: "1.0 if updates - update > last_fifth else 1 - done"}],
    ),
    Misconception(
        "visible_case_hard_coded",
        "You use numbers of the run in the notebook, whatever the arguments are. Use `updates`, `warm_up` and `peak`.",
        {"if update < warm_up:": "updates, warm_up, peak = 60, 6, 0.1\n    if update < warm_up:"},
        variants=[{STEP: "((update - warm_up) // 18)", "updates // 5": "12"}],
    ),
    run=_run,
    cases=run_cases,
    is_near=is_near,
)

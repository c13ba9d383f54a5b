"""Judges the exam on learning-rate schedules."""

from __future__ import annotations

import math

from grader.judging.edited_source import Part
from grader.judging.misconceptions import Misconception
from grader.judging.variants import FamilyJudge, variant_judges, when
from grader.lessons.learning_rate_schedules.exam import TOPIC, RatesCase, UpdatesCase, rates_cases, updates_cases
from grader.variants import Options


def rate_of_update(update: int, updates: int, warm_up: int, peak: float, options: Options) -> float:
    """Learning rate of an update, counted from 0."""
    lowest: float = options["floor"] * peak
    if update < warm_up:
        risen = (update + 1) / warm_up if options["first"] == "above zero" else update / warm_up
        share = risen**2 if options["rise"] == "square" else math.sqrt(risen)
        return peak * share
    stable = options["hold"] * (updates - warm_up)
    start = warm_up + stable
    done = max(0.0, (update - start) / (updates - 1 - start))
    left: dict[str, float] = {
        "one minus the square root": 1 - math.sqrt(done),
        "cosine": (1 + math.cos(math.pi * done)) / 2,
        "linear": 1 - done,
    }
    return lowest + (peak - lowest) * left[options["fall"]]


def updates_of_run(rows: int, batch: int, ranks: int, k: int, epochs: int, options: Options) -> int:
    """Updates of a whole run."""
    each = rows / (batch * ranks)
    micro_batches = math.floor(each) if options["rest"] == "drop" else math.ceil(each)
    if options["groups"] == "in each epoch":
        return epochs * math.ceil(micro_batches / k)
    return math.ceil(epochs * micro_batches / k)


def _run_rates(rate: Part, case: RatesCase, options: Options) -> list[float]:
    return [rate(update, case.updates, case.warm_up, case.peak, options) for update in range(case.updates)]


def _run_updates(count: Part, case: UpdatesCase, options: Options) -> int:
    value: int = count(case.rows, case.batch, case.ranks, case.k, case.epochs, options)
    return value


RISEN = '(update + 1) / warm_up if options["first"] == "above zero" else update / warm_up'
SHARE = 'risen**2 if options["rise"] == "square" else math.sqrt(risen)'
DONE = "(update - start) / (updates - 1 - start)"
RATES = FamilyJudge(
    rate_of_update,
    (
        Misconception(
            "linear_warm_up",
            "You raise the rate in equal steps. The contract names another curve.",
            {SHARE: "risen"},
        ),
        when(
            Misconception(
                "warm_up_falls_steeply_at_last",
                "You take the square root of the progress. The contract squares it.",
                {SHARE: "math.sqrt(risen)"},
            ),
            rise="square",
        ),
        when(
            Misconception(
                "warm_up_rises_late",
                "You square the progress of the warm-up. The contract takes its square root.",
                {SHARE: "risen**2"},
            ),
            rise="square root",
        ),
        when(
            Misconception(
                "first_rate_zero",
                "Your first update has the rate 0, and changes nothing. The contract starts above it.",
                {RISEN: "update / warm_up"},
            ),
            first="above zero",
        ),
        when(
            Misconception(
                "warm_up_one_update_early",
                "You reach the peak one update early. The first update has the rate 0.",
                {RISEN: "(update + 1) / warm_up"},
            ),
            first="zero",
        ),
        Misconception(
            "floor_under_the_warm_up",
            "You raise the rate from its lowest value. The contract raises it from 0.",
            {"return peak * share": "return lowest + (peak - lowest) * share"},
        ),
        Misconception(
            "stable_share_of_all_updates",
            "You take the stable phase as a share of all updates. It is one of those after the warm-up.",
            {'stable = options["hold"] * (updates - warm_up)': 'stable = options["hold"] * updates'},
        ),
        Misconception(
            "stable_counts_the_warm_up",
            "You let the stable phase begin with the run. It begins after the warm-up.",
            {"start = warm_up + stable": "start = max(stable, warm_up)"},
        ),
        Misconception(
            "no_stable_phase",
            "You begin to lower the rate right after the warm-up. Look at the share of the stable phase.",
            {"start = warm_up + stable": "start = warm_up"},
        ),
        Misconception(
            "lowest_rate_after_the_run",
            "You would reach the lowest rate one update after the last. The last update has it.",
            {DONE: "(update - start) / (updates - start)"},
        ),
        Misconception(
            "falls_to_zero",
            "You lower the rate to 0. The run ends at a share of the peak.",
            {"lowest + (peak - lowest) *": "peak *"},
        ),
        Misconception(
            "cut_off_at_the_floor",
            "You lower the rate towards 0 and cut it off. The curve itself ends at the lowest rate.",
            {
                "return lowest + (peak - lowest) * left": "return max(lowest, peak * left",
                '[options["fall"]]': '[options["fall"]])',
            },
        ),
        when(
            Misconception(
                "linear_decay",
                "You lower the rate in equal steps. The contract names another curve.",
                {'left[options["fall"]]': 'left["linear"]'},
            ),
            fall=("one minus the square root", "cosine"),
        ),
        when(
            Misconception(
                "cosine_decay",
                "You lower the rate by a cosine. The contract names another curve.",
                {'left[options["fall"]]': 'left["cosine"]'},
            ),
            fall=("one minus the square root", "linear"),
        ),
        when(
            Misconception(
                "square_root_of_what_is_left",
                "You take the square root of what is left of the decay. It is 1 minus the square root of what is done.",
                {"1 - math.sqrt(done)": "math.sqrt(1 - done)"},
            ),
            fall="one minus the square root",
        ),
        when(
            Misconception(
                "whole_period_of_the_cosine",
                "You run through a whole period, so the rate comes back to the peak. Take half a period.",
                {"math.cos(math.pi * done)": "math.cos(2 * math.pi * done)"},
            ),
            fall="cosine",
        ),
        Misconception(
            "exercise_of_the_lesson",
            "You solve the exercise of the lesson. This contract differs from it: read each of its lines.",
            {
                RISEN: "update / warm_up",
                SHARE: "risen",
                "start = warm_up + stable": "start = warm_up",
                DONE: "(update - start) / (updates - start)",
                "lowest + (peak - lowest) *": "peak *",
                'left[options["fall"]]': 'left["cosine" if options["fall"] == "cosine" else "linear"]',
            },
        ),
    ),
    _run_rates,
    rates_cases,
    lambda case: f"{case.updates} updates, {case.warm_up} of them warm-up, peak {case.peak:g}",
    relative=1e-6,
    absolute=1e-12,
    noun="rate",
)
DROP = 'math.floor(each) if options["rest"] == "drop" else math.ceil(each)'
ACROSS = "return math.ceil(epochs * micro_batches / k)"
INSIDE = "epochs * math.ceil(micro_batches / k)"
UPDATES = FamilyJudge(
    updates_of_run,
    (
        Misconception(
            "ranks_forgotten",
            "You count the micro-batches of one rank that sees all rows. The ranks share them.",
            {"rows / (batch * ranks)": "rows / batch"},
        ),
        Misconception(
            "micro_batches_counted",
            "You count micro-batches. An update takes k of them.",
            {INSIDE: "epochs * micro_batches", ACROSS: "return epochs * micro_batches"},
        ),
        Misconception(
            "one_epoch_counted",
            "You count the updates of one epoch.",
            {INSIDE: "math.ceil(micro_batches / k)", ACROSS: "return math.ceil(micro_batches / k)"},
        ),
        when(
            Misconception(
                "groups_across_epochs",
                "You let a group go on in the next epoch. It ends with its epoch, full or not.",
                {INSIDE: "math.ceil(epochs * micro_batches / k)"},
            ),
            groups="in each epoch",
        ),
        when(
            Misconception(
                "groups_end_with_the_epoch",
                "You end a group with its epoch. It goes on in the next one.",
                {ACROSS: "return epochs * math.ceil(micro_batches / k)"},
            ),
            groups="across epochs",
        ),
        when(
            Misconception(
                "last_group_left_out",
                "You leave out a group that is not full. It makes an update, too.",
                {INSIDE: "epochs * (micro_batches // k)"},
            ),
            groups="in each epoch",
        ),
        when(
            Misconception(
                "last_group_of_the_run_left_out",
                "You leave out the last group of the run where it is not full. It makes an update, too.",
                {ACROSS: "return epochs * micro_batches // k"},
            ),
            groups="across epochs",
        ),
        when(
            Misconception(
                "rest_kept",
                "You count the micro-batch that is not full. It is dropped.",
                {DROP: "math.ceil(each)"},
            ),
            rest="drop",
        ),
        when(
            Misconception(
                "rest_dropped",
                "You leave out the micro-batch that is not full. It is kept.",
                {DROP: "math.floor(each)"},
            ),
            rest="keep",
        ),
    ),
    _run_updates,
    updates_cases,
    lambda case: (
        f"{case.rows} rows, {case.batch} a micro-batch, {case.ranks} ranks, k = {case.k}, {case.epochs} epochs"
    ),
)

__getattr__ = variant_judges(TOPIC, judge_exam_rates=RATES, judge_exam_updates=UPDATES)

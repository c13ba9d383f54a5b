"""Judges the predicted synchronisations of local SGD, and when it equals data parallel training."""

from __future__ import annotations

from collections.abc import Callable

from grader.judging.misconceptions import Misconception
from grader.judging.nearness import within
from grader.judging.references import ReferenceTable, hard_coded
from grader.lessons.local_sgd.synchronisations import (
    ADAMW,
    CLIPPED,
    MOMENTUM,
    PLAIN,
    SynchronisationsCase,
    synchronisations_cases,
)
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

AVERAGES, IS_EQUAL = "averages", "is_equal"
TOLERANCE = 1e-6  # a learner may divide

Run = dict[str, float]


def synchronise(micro_batches: int, k: int, every: int, optimizer: str) -> Run:
    """Return how often the ranks average, and whether they end in the weights of data parallel training."""
    updates = -(-micro_batches // k)
    averages = -(-updates // every)
    is_linear = optimizer in (PLAIN, MOMENTUM)
    return {"averages": averages, "is_equal": is_linear and averages == updates}


# The parts of the reference that misconceptions edit.
COUNT = '"averages": averages'
EQUAL = "is_linear and averages == updates"
LINEAR = "optimizer in (PLAIN, MOMENTUM)"

OTHERWISE = {
    AVERAGES: "Your number of synchronisations is wrong. Count the updates of a rank, and then after which of them it "
    "averages.",
    IS_EQUAL: "You take a run for equal that is not, or the reverse. Compute two updates by hand: is the mean of the "
    "ranks' steps the step of their mean gradient?",
}


def judge_local_sgd_synchronisations(observation: Observation, seed: int) -> Verdict:
    """Compare both answers for every run with those of real ranks."""
    predicted = observation.facts["predicted"]
    answer = TABLE.answer(seed, [{AVERAGES: float(count), IS_EQUAL: bool(equal)} for count, equal in predicted])
    for name in (AVERAGES, IS_EQUAL):
        part = answer.part(name)
        if part.is_right:
            continue
        case: SynchronisationsCase = part.case
        run = f"{case.micro_batches} micro-batches, k = {case.k}, every = {case.every}, {case.optimizer}"
        what = "synchronisations: " if name == AVERAGES else "equal to data parallel: "
        measured = f"{part.value:,.10g}" if name == AVERAGES else str(part.value)
        expected = f"{what}{part.truth}, for {run}"
        return TABLE.explain(answer, part, expected=expected, measured=measured, otherwise=OTHERWISE[name])
    return Verdict(PASSED, "", f"{len(predicted)} runs, each with its averages, and equal or not")


def _run(synchronise: Callable[..., Run], case: SynchronisationsCase) -> Run:
    return synchronise(case.micro_batches, case.k, case.every, case.optimizer)


TABLE = ReferenceTable(
    synchronise,
    Misconception(
        "final_average_forgotten",
        "You leave out the final average, at least in some runs. It is needed whenever updates came after the last "
        "average: round updates / every up.",
        {COUNT: '"averages": updates // every'},
        variants=[
            {COUNT: '"averages": round(updates / every)'},
            {COUNT: '"averages": max(1, updates // every)'},
            {COUNT: '"averages": (updates + 1) // every'},
        ],
    ),
    Misconception(
        "final_average_always",
        "You add a final average in any case. If an average followed the last update already, the ranks agree.",
        {COUNT: '"averages": updates // every + 1'},
    ),
    Misconception(
        "micro_batches_counted",
        "You count micro-batches where `every` counts updates. Count the updates first: k micro-batches make one.",
        {COUNT: '"averages": -(-micro_batches // every)'},
        variants=[
            {COUNT: '"averages": micro_batches // every'},
            {COUNT: '"averages": micro_batches // every + 1'},
        ],
    ),
    Misconception(
        "short_group_forgotten",
        "You leave out a last group of fewer than k micro-batches. It makes an update, too: round micro_batches / k "
        "up.",
        {COUNT: '"averages": -(-(micro_batches // k) // every)'},
        variants=[
            {COUNT: '"averages": -(-max(1, micro_batches // k) // every)'},
            {COUNT: '"averages": -(-round(micro_batches / k) // every)'},
            {COUNT: '"averages": micro_batches // k // every'},
            {COUNT: '"averages": micro_batches // k // every + 1'},
        ],
    ),
    Misconception(
        "every_left_out",
        "You count an average after every update or micro-batch. The ranks average after every `every` updates.",
        {COUNT: '"averages": updates'},
        variants=[{COUNT: '"averages": micro_batches'}],
    ),
    Misconception(
        "not_rounded",
        "You return a fraction of an average. Round up: a short last group is an update, and updates after the last "
        "average need another one.",
        {COUNT: '"averages": updates / every'},
        variants=[{COUNT: '"averages": micro_batches / k / every'}],
    ),
    Misconception(
        "sixty_updates_assumed",
        "You use the 60 updates of a run of the lesson. Compute the updates of this run from micro_batches and k.",
        {COUNT: '"averages": -(-60 // every)'},
    ),
    Misconception(
        "final_only",
        "You count one average, at the end. The ranks also average after every `every` updates.",
        {COUNT: '"averages": 1'},
    ),
    Misconception(
        "one_average_at_the_end",
        "You take a single average at the end for data parallel training. Each rank computed its second gradient at "
        "weights of its own.",
        {EQUAL: "is_linear and (every == 1 or updates <= every)"},
        variants=[{EQUAL: "every == 1 or updates <= every"}],
    ),
    Misconception(
        "last_update_averaged",
        "You look at whether an average follows the last update. It makes the ranks agree, but they computed their "
        "gradients at different weights.",
        {EQUAL: "is_linear and not updates % every"},
    ),
    Misconception(
        "every_one_only",
        "You ask for every == 1. A run of a single update is averaged after it, so it averages after each update, too.",
        {EQUAL: "is_linear and every == 1"},
    ),
    Misconception(
        "parentheses_missing",
        "You combine `or` and `and` without parentheses. `and` binds more tightly, so your condition on the averages "
        "holds for one optimizer only.",
        {EQUAL: "optimizer == PLAIN or optimizer == MOMENTUM and every == 1"},
        variants=[{EQUAL: "optimizer == PLAIN or optimizer == MOMENTUM and averages == updates"}],
    ),
    Misconception(
        "optimizer_left_out",
        "You leave the optimizer out. Averaging the steps equals averaging the gradients only if a step is linear in "
        "the gradient.",
        {EQUAL: "every == 1"},
        variants=[{EQUAL: "averages == updates"}],
    ),
    Misconception(
        "clipping_thought_linear",
        "You take clipping for linear, but each rank divides by the norm of its own gradient.",
        {LINEAR: f"optimizer in (PLAIN, MOMENTUM, {CLIPPED!r})"},
        variants=[{EQUAL: f"every == 1 and optimizer in (PLAIN, MOMENTUM, {CLIPPED!r})"}],
    ),
    Misconception(
        "adamw_thought_linear",
        "You take AdamW for linear, but each rank divides by a root of its own squared gradients, even at the first "
        "update.",
        {LINEAR: f"optimizer in (PLAIN, MOMENTUM, {ADAMW!r})"},
        variants=[
            {EQUAL: f"every == 1 and optimizer in (PLAIN, MOMENTUM, {ADAMW!r})"},
            {EQUAL: f"is_linear and averages == updates or optimizer == {ADAMW!r} and updates == 1"},
        ],
    ),
    Misconception(
        "momentum_thought_unequal",
        "You take momentum for unequal. A step is a sum of the gradients so far, and the mean of the ranks' sums is "
        "the sum of their mean gradients.",
        {LINEAR: "optimizer == PLAIN"},
        variants=[
            {EQUAL: "every == 1 and optimizer == PLAIN"},
            {EQUAL: "averages == updates and (optimizer == PLAIN or is_linear and updates == 1)"},
        ],
    ),
    Misconception(
        "every_left_out_of_equality",
        "You look at the optimizer alone. Between two averages each rank takes steps on gradients of its own.",
        {EQUAL: "is_linear"},
    ),
    Misconception(
        "accumulation_thought_unequal",
        "You take accumulation for unequal. Gradients are summed on each rank, and sums are linear, too.",
        {EQUAL: "is_linear and averages == updates and k == 1"},
    ),
    Misconception(
        "always_equal",
        "You return True for every run. Between two averages the ranks move apart on gradients of their own.",
        {EQUAL: "True"},
    ),
    Misconception(
        "never_equal",
        "You return False for every run. With an average after every update and a linear step, the weights are equal.",
        {EQUAL: "False"},
    ),
    Misconception(
        "turned_round",
        "You return True where the weights differ. True means that they are equal.",
        {EQUAL: "not (is_linear and averages == updates)"},
    ),
    hard_coded(synchronisations_cases),
    run=_run,
    cases=synchronisations_cases,
    is_near=within(relative=TOLERANCE),
)

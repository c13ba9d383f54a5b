"""Judges the learning rates of a schedule with warm-up, stable phase and decay, interrupted and continued."""

from __future__ import annotations

from typing import Any

from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR

from grader.judging.lessons.learning_rate_schedules.histories import explain_rates
from grader.judging.misconceptions import Misconception
from grader.judging.nearness import within
from grader.judging.references import Answer, ReferenceTable
from grader.lessons.learning_rate_schedules.plans import PlanCase, plan_cases, run_plan
from grader.observation import Observation
from grader.verdict import PASSED, Verdict


def make_wsd(optimizer: Optimizer, warm_up: int, stable: int, decay: int, done: int = 0) -> Any:
    """Return a scheduler that has made `done` updates."""
    updates = warm_up + stable + decay

    def factor(update: int) -> float:
        if update < warm_up:
            return update / warm_up
        return max(0.0, min(1.0, (updates - update) / decay))

    return LambdaLR(optimizer, factor, last_epoch=done - 1)


def judge_wsd_histories(observation: Observation, seed: int) -> Verdict:
    """Compare the rates of both groups at every update."""
    answer = TABLE.answer(seed, observation.facts["answers"])
    if answer.is_right:
        return Verdict(PASSED, "", f"{len(answer.values)} runs right at every update, {len(answer.values) - 1} resumed")
    case: PlanCase = answer.case
    update = _differing(answer)[0]
    plans = " + ".join(map(str, case.next_plan))
    place = f"{case.what}; {plans} updates, {case.done} of them made before" if case.done else f"{plans} updates"
    expected = f"{_text(answer.truth[update])} at update {update} ({place})"
    measured = _text(answer.value[update])
    group = int(is_near(answer.value[update][0], answer.truth[update][0]))  # the first that differs
    right, given = ([pair[group] for pair in history] for history in (answer.truth, answer.value))
    code, diagnosis = explain_rates(answer, right, given, LOOK_AT, case.next_plan[0])
    return TABLE.judge(answer, expected, measured) or Verdict(code, expected, measured, diagnosis)


def _differing(answer: Answer) -> list[int]:
    """Return the updates at which the first wrong run differs."""
    pairs = enumerate(zip(answer.truth, answer.value, strict=True))
    return [index for index, (right, given) in pairs if not is_near(given, right)]


def _is_first_group_right(answer: Answer) -> bool:
    return all(is_near(given[0], right[0]) for right, given in zip(answer.truth, answer.value, strict=True))


def _is_first_rate_unset(answer: Answer) -> bool:
    is_peak_at_first = is_near(answer.value[0], list(answer.case.peaks))
    return set(_differing(answer)) <= {0, answer.case.done} and (is_peak_at_first or answer.case.done > 0)


def _text(rates: list[float]) -> str:
    return "rates " + " and ".join(f"{rate:.4g}" for rate in rates)


LOOK_AT = (
    "Count from the start of the run: the factor is 0 at update 0, 1 at `warm_up` and `warm_up + stable`, and 0 at the "
    "end, with equal steps between. A call of step() counts one more update, then sets its rate."
)
is_near = within(relative=1e-6, absolute=1e-12)
RETURN = "return LambdaLR(optimizer, factor, last_epoch=done - 1)"
LAST = "last_epoch=done - 1"
DECAY = "max(0.0, min(1.0, (updates - update) / decay))"
FIRST = "optimizer.param_groups[0]"
RATES = "return LambdaLR(optimizer, lambda update: peak * factor(update), last_epoch=done - 1)"
FORGET = "for group in optimizer.param_groups: group.pop('initial_lr', None)"

TABLE = ReferenceTable(
    make_wsd,
    Misconception(
        "count_ignored",
        "You start the schedule again after the interruption. Begin at update `done`.",
        {LAST: "last_epoch=-1"},
    ),
    Misconception(
        "present_rate_taken_for_the_peak",
        "You take the rate at the interruption for the peak, and scale it again. The peak is in `initial_lr`.",
        {RETURN: "\n    ".join((FORGET, "return LambdaLR(optimizer, lambda update: factor(update + done))"))},
        variants=[{RETURN: "\n    ".join((FORGET, "return LambdaLR(optimizer, factor)"))}],
    ),
    Misconception(
        "resumed_one_update_late",
        "You skip one update when you resume. LambdaLR makes a step of its own when it is created: "
        "`last_epoch` is the update before the one that comes next.",
        {LAST: "last_epoch=done if done else -1"},
    ),
    Misconception(
        "one_rate_for_all_groups",
        "Your rate is right in the first group only. Each group has a peak of its own: its `initial_lr` if `done > 0`.",
        shown_by=_is_first_group_right,
    ),
    Misconception(
        "warm_up_one_update_early",
        "You count the update that is about to be made. The first update has the rate 0.",
        {"return update / warm_up": "return (update + 1) / warm_up"},
        variants=[{"return update / warm_up": "return (update + 1) / (warm_up + 1)"}],
    ),
    Misconception(
        "warm_up_not_counted",
        "You end the run after `stable + decay` updates: your decay begins too early by the length of the warm-up.",
        {"updates = warm_up + stable + decay": "updates = stable + decay"},
    ),
    Misconception(
        "zero_at_the_last_update",
        "Your rate is 0 at the last update, which then changes nothing. It reaches 0 one update later.",
        {DECAY: "max(0.0, min(1.0, (updates - 1 - update) / decay))"},
        variants=[{DECAY: "max(0.0, min(1.0, (updates - 1 - update) / (decay - 1)))"}],
    ),
    Misconception(
        "negative_after_the_end",
        "Your rate is negative after the end, so that updates climb the loss. Keep it at 0.",
        {DECAY: "min(1.0, (updates - update) / decay)"},
    ),
    Misconception(
        "peak_after_the_end",
        "Your rate does not stay at 0 after the end of the decay. Look at what your factor is there.",
        shown_by=lambda answer: _differing(answer)[0] >= sum(answer.case.next_plan),
    ),
    Misconception(
        "rate_set_by_step_only",
        "Your rates become right with the first step(). They must be right as soon as the scheduler is made.",
        shown_by=_is_first_rate_unset,
    ),
    Misconception(
        "factor_times_peak",
        "You return a rate from the function that LambdaLR calls. It multiplies what you return by each group's peak: "
        "return the factor alone.",
        {RETURN: f"peak = {FIRST}.get('initial_lr', {FIRST}['lr'])\n    {RATES}"},
    ),
    Misconception(
        "decays_by_a_cosine",
        "Your decay is a cosine, the default of transformers. It falls by equal amounts: decay_type='linear'.",
        {
            "updates = warm_up + stable + decay": "import math\n    updates = warm_up + stable + decay",
            DECAY: "0.5 - 0.5 * math.cos(math.pi * max(0.0, min(1.0, (updates - update) / decay)))",
        },
    ),
    Misconception(
        "no_decay",
        "You stay at the peak to the end. The last `decay` updates fall to 0.",
        {DECAY: "1.0"},
    ),
    Misconception(
        "no_stable_phase",
        "You fall as soon as the warm-up has ended. The rate stays at the peak for `stable` updates.",
        {DECAY: "max(0.0, min(1.0, (updates - update) / (stable + decay)))"},
    ),
    Misconception(
        "visible_case_hard_coded",
        "You follow the plan in the notebook, whatever the arguments are. Use `warm_up`, `stable` and `decay`.",
        {"updates = warm_up + stable + decay": "warm_up, stable, decay = 4, 6, 5; updates = 15"},
    ),
    run=run_plan,
    cases=plan_cases,
    is_near=is_near,
)

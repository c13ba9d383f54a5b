"""Judges the learning rates of a schedule with warm-up, stable phase and decay, interrupted and continued."""

from __future__ import annotations

from typing import Any

from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR

from grader.judging.misconceptions import Misconception
from grader.judging.nearness import within
from grader.judging.references import ReferenceTable
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
    update = next(
        index
        for index, (right, given) in enumerate(zip(answer.truth, answer.value, strict=True))
        if not is_near(given, right)
    )
    plans = " + ".join(map(str, case.next_plan))
    place = f"{case.what}; {plans} updates, {case.done} of them made before" if case.done else f"{plans} updates"
    expected = f"{_text(answer.truth[update])} at update {update} ({place})"
    otherwise = "Print the rate at every update of such a run, and compare it with one that was not interrupted."
    return TABLE.explain(answer, expected=expected, measured=_text(answer.value[update]), otherwise=otherwise)


def _text(rates: list[float]) -> str:
    return "rates " + " and ".join(f"{rate:.4g}" for rate in rates)


is_near = within(relative=1e-6, absolute=1e-12)
RETURN = "return LambdaLR(optimizer, factor, last_epoch=done - 1)"
LAST = "last_epoch=done - 1"
DECAY = "max(0.0, min(1.0, (updates - update) / decay))"
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
        "resumed_one_update_early",
        "You repeat one update when you resume. After `done` updates the next one has the number `done`.",
        {LAST: "last_epoch=max(done - 2, -1)"},
    ),
    Misconception(
        "warm_up_after_each_resume",
        "You warm up again after the interruption. A resumed run has its warm-up behind it.",
        {"update < warm_up": "update - done < warm_up", "update / warm_up": "(update - done) / warm_up"},
    ),
    Misconception(
        "one_rate_for_all_groups",
        "You set the rate of the first group in every group. Each group has a peak of its own.",
        {
            RETURN: "for group in optimizer.param_groups: "
            "group['initial_lr'] = optimizer.param_groups[0].get('initial_lr', optimizer.param_groups[0]['lr'])\n"
            "    return LambdaLR(optimizer, factor, last_epoch=done - 1)"
        },
    ),
    Misconception(
        "warm_up_one_update_early",
        "You count the update that is about to be made, so that the peak comes one update early. The first update has "
        "the rate 0.",
        {"return update / warm_up": "return (update + 1) / warm_up"},
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
        "Your rate does not stay at 0 after the end of the decay. Look at what your last branch returns.",
        {DECAY: "(min(1.0, (updates - update) / decay) if update < updates else 1.0)"},
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
        "no_warm_up",
        "You start at the peak. The rate rises from 0 during the first `warm_up` updates.",
        {"return update / warm_up": "return 1.0"},
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

"""Judges what a learner makes of the log of an fp16 run."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from grader.judging.misconceptions import Misconception
from grader.judging.references import ReferenceTable, hard_coded
from grader.lessons.mixed_precision.recorded_runs import RecordedUpdate, RunCase, run_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict


def diagnose(log: Sequence[RecordedUpdate]) -> str:
    """Return what the log shows: overflow as usual, a scale that collapses because gradients grow, or a bug."""
    if any(update.bad_pass == "forward" for update in log):
        return "bug"
    if min(update.scale for update in log) >= 1:
        return "overflow"
    last_norm = [update.norm for update in log if math.isfinite(update.norm)][-1]
    return "collapse" if last_norm > 65_504 else "bug"


# The parts of the reference that misconceptions edit.
FORWARD = 'any(update.bad_pass == "forward" for update in log)'
LOWEST = "min(update.scale for update in log) >= 1"
LAST = 'return "collapse" if last_norm > 65_504 else "bug"'
LONGEST_ROW = "max(map(len, ''.join('x' if update.bad_pass else ' ' for update in log).split()))"


def judge_diagnosed_runs(observation: Observation, seed: int) -> Verdict:
    """Compare the diagnosis of every run, and report the first that differs."""
    answer = TABLE.answer(seed, observation.facts["diagnoses"])
    if answer.is_right:
        return Verdict(PASSED, "the diagnosis of every run", f"{len(answer.values)} runs diagnosed")
    return TABLE.explain(
        answer,
        expected=f"{answer.truth!r} for {_describe(answer.case)}",
        measured=repr(answer.value),
        otherwise="You tell the three kinds apart by something else. Ask of each inf or NaN: is it in the forward "
        "pass, does the run recover, and is the gradient large enough to overflow at that scale?",
    )


def _describe(case: RunCase) -> str:
    log = case.log()
    bad = [number for number, update in enumerate(log) if update.bad_pass]
    norm = [update.norm for update in log if math.isfinite(update.norm)][-1]
    first = log[bad[0]]
    return (
        f"a run with {len(bad)} of {len(log)} updates skipped, the first at {bad[0]} in the {first.bad_pass} pass, a "
        f"lowest scale of {min(update.scale for update in log):.3g} and a last finite norm of {norm:.3g}"
    )


def _run(diagnose: Callable[..., str], case: RunCase) -> str:
    return diagnose(case.log())


TABLE = ReferenceTable(
    diagnose,
    Misconception(
        "every_run_overflows",
        "You call every run healthy. Look at where inf or NaN begins, and at how far the scale falls.",
        {FORWARD: "False", LOWEST: "True"},
    ),
    Misconception(
        "every_run_collapses",
        "You call every run collapsing. Look at whether the scale comes back, and at how large the norms are.",
        {FORWARD: "False", LOWEST: "False", LAST: 'return "collapse"'},
    ),
    Misconception(
        "every_bad_update_a_bug",
        "You take any inf or NaN for a bug. The scaler looks for overflows by trying: a skip now and then is normal.",
        {FORWARD: "any(update.bad_pass for update in log)"},
        variants=[{FORWARD: 'any(update.bad_pass == "backward" for update in log)', LOWEST: "True"}],
    ),
    Misconception(
        "forward_ignored",
        "You look at the scale alone. The loss scale is applied after the forward pass, so inf or NaN there is never "
        "its fault.",
        {FORWARD: "False"},
        variants=[{FORWARD: "False", LAST: 'return "collapse"'}],
    ),
    Misconception(
        "row_of_skips_counted",
        "You take a long row of skips for a collapse. A run that starts with too large a scale skips many updates, and "
        "then recovers. Look at how far the scale falls.",
        {LOWEST: f"{LONGEST_ROW} < 5"},
        variants=[
            {LOWEST: f"{LONGEST_ROW} < 5", LAST: 'return "collapse"'},
            {LOWEST: f"{LONGEST_ROW} < 3"},
            {LOWEST: f"{LONGEST_ROW} < 10"},
            {LOWEST: f"{LONGEST_ROW} < 10", LAST: 'return "collapse"'},
        ],
    ),
    Misconception(
        "last_update_decides",
        "You judge by the last update alone. A healthy run may end with a skip, and a broken one with a good update.",
        {LOWEST: "not log[-1].bad_pass"},
        variants=[{LOWEST: "not log[-1].bad_pass", LAST: 'return "collapse"'}],
    ),
    Misconception(
        "one_update_examined",
        "You look at update 40 alone. In other runs the trouble begins elsewhere: go through the whole log.",
        {FORWARD: 'log[40].bad_pass == "forward"', LOWEST: "True"},
    ),
    Misconception(
        "backward_bug_missed",
        "You find bugs in the forward pass only. A module may compute NaN in its backward pass, too: then the scale "
        "falls although the norms are small.",
        {LAST: 'return "collapse" if last_norm > 65_504 else "overflow"'},
    ),
    Misconception(
        "norms_ignored",
        "You call each falling scale a collapse. At a scale below 1 a gradient of norm 1 cannot overflow: look at the "
        "last finite norms.",
        {LAST: 'return "collapse"'},
    ),
    Misconception(
        "falling_scale_a_bug",
        "You call each falling scale a bug. Where the true gradients grow beyond fp16, the scale has to follow them.",
        {LAST: 'return "bug"'},
    ),
    hard_coded(run_cases),
    run=_run,
    cases=run_cases,
)

"""Judges how many workers recorded runs need."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from grader.judging.misconceptions import Misconception
from grader.judging.references import ReferenceTable, hard_coded
from grader.lessons.data_loading.loader_logs import LoaderLog, LogCase, log_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict


def workers_needed(log: LoaderLog) -> int:
    """Return the smallest number of workers with which the device does not wait."""
    wait = sum(log.wait_seconds)
    busy = sum(log.busy_seconds)
    if wait < 0.05 * (wait + busy):
        return log.workers
    preparing = log.workers * (wait + busy)
    if log.workers == 0:
        preparing = wait
    return min(log.cores, math.ceil(preparing / busy))


def judge_workers_needed(observation: Observation, seed: int) -> Verdict:
    """Compare the numbers of workers."""
    answer = TABLE.answer(seed, observation.facts["answers"])
    if answer.is_right:
        return Verdict(PASSED, "", f"the workers of {len(answer.values)} runs")
    case: LogCase = answer.case
    log = case.log()
    busy = sum(log.busy_seconds) / (sum(log.busy_seconds) + sum(log.wait_seconds))
    expected = f"{answer.truth} workers ({log.workers} now, {log.cores} cores, device busy {busy:.0%} of the time)"
    return TABLE.explain(
        answer, answer.only(answer.wrong[0]), expected=expected, measured=f"{answer.value:g}", otherwise=OTHERWISE
    )


def _run(workers_needed: Callable[..., Any], case: LogCase) -> Any:
    return workers_needed(case.log())


OTHERWISE = "How long does one worker take for a batch? Say it for this run, from its step time and its workers."
PREPARING = "log.workers * (wait + busy)"
ENOUGH = "if wait < 0.05 * (wait + busy):\n        return log.workers"
RESULT = "min(log.cores, math.ceil(preparing / busy))"

TABLE = ReferenceTable(
    workers_needed,
    Misconception(
        "one_more_worker",
        "You add one worker. The log says how many are missing: compute how long one takes for a batch.",
        {RESULT: "min(log.cores, log.workers + 1)"},
        variants=[{RESULT: "min(log.cores, 2 * log.workers)"}],
    ),
    Misconception(
        "as_many_as_cores",
        "You take one worker for each core. More workers than the device can use cost memory and give nothing.",
        {RESULT: "log.cores"},
        variants=[{RESULT: "log.cores", ENOUGH: "pass"}],
    ),
    Misconception(
        "waiting_alone_taken_for_preparing",
        "You take the waiting time for the time of preparing. Workers prepare while the device computes, too: with W "
        "workers one batch takes W times the whole step.",
        {PREPARING: "log.workers * wait"},
        variants=[{PREPARING: "wait"}],
    ),
    Misconception(
        "present_workers_forgotten",
        "You take the step time for the time that a worker needs. W of them prepare W batches in that time.",
        {PREPARING: "wait + busy"},
    ),
    Misconception(
        "median_of_the_waits",
        "You take the median wait. Batches come in bursts: most steps do not wait at all, and then one waits long. "
        "Take the mean.",
        {"wait = sum(log.wait_seconds)": "wait = sorted(log.wait_seconds)[len(log.wait_seconds) // 2] * 240"},
    ),
    Misconception(
        "no_worker_counted_as_one",
        "You take a run without workers for one with a worker. There the training process prepares a batch, and only "
        "then computes: the wait is the whole time of preparing.",
        {"preparing = wait": "preparing = wait + busy"},
    ),
    Misconception(
        "no_workers_give_none",
        "You multiply by 0 workers. Without workers the wait is the whole time of preparing.",
        {"if log.workers == 0:": "if log.workers < 0:"},
        variants=[{"preparing = wait": "preparing = busy"}],
    ),
    Misconception(
        "healthy_run_changed",
        "You change a run whose device hardly waits. Its log cannot show how fast the workers could be: leave it.",
        {ENOUGH: "pass"},
    ),
    Misconception(
        "more_than_the_cores",
        "You ask for more workers than the machine has cores. They would wait for each other.",
        {RESULT: "math.ceil(preparing / busy)"},
    ),
    Misconception(
        "rounded_down",
        "You round down or to the nearest. With a part of a worker too few the device still waits: round up.",
        {RESULT: "min(log.cores, int(preparing / busy))"},
        variants=[{RESULT: "min(log.cores, round(preparing / busy))"}, {RESULT: "min(log.cores, preparing / busy)"}],
    ),
    hard_coded(log_cases),
    run=_run,
    cases=log_cases,
)

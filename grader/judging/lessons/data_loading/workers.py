"""Judges how many workers recorded runs need."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from grader.judging.misconceptions import Misconception
from grader.judging.references import Answer, ReferenceTable, hard_coded
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
    wrong = replace(answer, indices=answer.wrong)  # of one run, most formulas give some plausible number
    return TABLE.explain(answer, wrong, expected=expected, measured=f"{answer.value:g}", otherwise=OTHERWISE)


def _run(workers_needed: Callable[..., Any], case: LogCase) -> Any:
    return workers_needed(case.log())


def _wrong(answer: Answer) -> list[tuple[int, int, int]]:
    """Return the runs that are wrong: what the answer is, what is right, and the workers of the run."""
    cases, truths = answer.table.reference.cases(answer.seed), answer.table.truths(answer.seed)
    return [(answer.values[index], truths[index], cases[index].workers) for index in answer.wrong]


OTHERWISE = (
    "Take the totals over all steps of this run. Does it wait for more than 5 % of the time? If so, how long does one "
    "worker take for a batch, and how many of them finish one in each busy time?"
)
WAIT = "wait = sum(log.wait_seconds)"
MEDIAN = "sorted(log.{0})[len(log.{0}) // 2]"
BUSY = "busy = sum(log.busy_seconds)"
WITHOUT = "preparing = wait"
PREPARING = "log.workers * (wait + busy)"
ENOUGH = "if wait < 0.05 * (wait + busy):\n        return log.workers"
RESULT = "min(log.cores, math.ceil(preparing / busy))"

TABLE = ReferenceTable(
    workers_needed,
    Misconception(
        "one_more_worker",
        "You add one worker, or double their number. The log says how many are missing: compute how long one takes for "
        "a batch.",
        {RESULT: "min(log.cores, log.workers + 1)"},
        variants=[{RESULT: "min(log.cores, 2 * log.workers)"}, {RESULT: "min(log.cores, 2 * log.workers or 1)"}],
    ),
    Misconception(
        "as_many_as_cores",
        "You take one worker for each core. More workers than the device can use cost memory and give nothing.",
        {RESULT: "log.cores"},
        variants=[{RESULT: "log.cores", ENOUGH: "pass"}],
    ),
    Misconception(
        "one_core_left_free",
        "You leave a core free. `cores` are those that the workers may use: all of them.",
        {RESULT: "min(log.cores - 1, math.ceil(preparing / busy))"},
    ),
    Misconception(
        "prefetched_batches_counted",
        "You divide by `prefetch_factor`. Prefetching keeps finished batches, but a worker prepares them one after the "
        "other.",
        {RESULT: "min(log.cores, math.ceil(preparing / busy / 2))"},
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
        variants=[{PREPARING: "wait + busy", WITHOUT: "pass"}],
    ),
    Misconception(
        "median_of_the_waits",
        "You take the median wait. Batches come in bursts: most steps do not wait at all, and then one waits long. "
        "Take the totals.",
        {WAIT: f"wait = {MEDIAN.format('wait_seconds')} * 240"},
        variants=[{WAIT: f"wait = {MEDIAN.format('wait_seconds')}", BUSY: f"busy = {MEDIAN.format('busy_seconds')}"}],
    ),
    Misconception(
        "no_worker_counted_as_one",
        "You take a run without workers for one with a worker. There the training process prepares a batch, and only "
        "then computes: the wait is the whole time of preparing.",
        {WITHOUT: "preparing = wait + busy"},
    ),
    Misconception(
        "no_workers_give_none",
        "You multiply by 0 workers. Without workers the wait is the whole time of preparing.",
        {"if log.workers == 0:": "if log.workers < 0:"},
        variants=[{WITHOUT: "preparing = busy"}],
    ),
    Misconception(
        "healthy_run_changed",
        "You change a run whose device hardly waits. Its log cannot show how fast the workers could be: leave it.",
        {ENOUGH: "pass"},
        variants=[{ENOUGH: "if wait < 0.05 * (wait + busy):\n        return 1"}],
    ),
    Misconception(
        "waiting_run_left_alone",
        "You return `log.workers` for a run whose device waits for more than 5 % of the time. Compare the total wait "
        "with the whole time.",
        shown_by=lambda answer: {value == now for value, truth, now in _wrong(answer) if truth != now} == {True},
    ),
    Misconception(
        "more_than_the_cores",
        "You ask for more workers than the machine has cores. They would wait for each other.",
        {RESULT: "math.ceil(preparing / busy)"},
    ),
    Misconception(
        "rounded_down",
        "You round down, to the nearest, or up after an allowance. With a part of a worker too few the device still "
        "waits: round up.",
        {RESULT: "min(log.cores, int(preparing / busy))"},
        variants=[
            {RESULT: "min(log.cores, round(preparing / busy))"},
            {RESULT: "min(log.cores, max(1, round(preparing / busy)))"},
            {RESULT: "min(log.cores, math.ceil(0.95 * preparing / busy))"},
        ],
    ),
    hard_coded(log_cases),
    Misconception(
        "too_many_workers",
        "You ask for too many workers wherever you are wrong. Take the totals of all steps, and not the longest waits; "
        "the training process is no worker.",
        shown_by=lambda answer: answer.indices == answer.wrong and all(one[0] > one[1] for one in _wrong(answer)),
    ),
    Misconception(
        "too_few_workers",
        "You ask for too few workers wherever you are wrong. Take the totals of all steps: W workers prepare W batches "
        "in the time of a step, waiting included.",
        shown_by=lambda answer: answer.indices == answer.wrong and all(one[0] < one[1] for one in _wrong(answer)),
    ),
    run=_run,
    cases=log_cases,
)

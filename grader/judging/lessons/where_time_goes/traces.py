"""Judges what a learner makes of a trace."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from grader.judging.misconceptions import Misconception
from grader.judging.references import ReferenceTable, hard_coded
from grader.lessons.where_time_goes.traces import Event, TraceCase, trace_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

BUSY = 0.7  # as the contract says; no trace has a share between 0.6 and 0.8


def diagnose(events: Sequence[Event], flops_per_second: float, bytes_per_second: float) -> str:
    """Return what bounds the steps after the first one."""
    start = min(event["ts"] for event in events if event["name"] == "ProfilerStep#1")
    later = [event for event in events if event["ts"] >= start]
    kernels = [event for event in later if event["cat"] == "kernel"]
    end = max(kernel["ts"] + kernel["dur"] for kernel in kernels)
    busy = busy_time(kernels)
    idle = end - start - busy
    if busy < BUSY * (end - start):
        loading = sum(event["dur"] for event in later if "DataLoader" in event["name"])
        return "data" if loading > idle / 2 else "launch"
    computing = sum(kernel["args"]["flops"] for kernel in kernels) / flops_per_second
    moving = sum(kernel["args"]["bytes"] for kernel in kernels) / bytes_per_second
    return "compute" if computing > moving else "memory"


def busy_time(kernels: Sequence[Event]) -> float:
    """Return the microseconds in which at least one kernel runs."""
    busy, end = 0.0, 0.0
    for kernel in sorted(kernels, key=lambda kernel: float(kernel["ts"])):
        stop = kernel["ts"] + kernel["dur"]
        busy += max(0.0, stop - max(kernel["ts"], end))
        end = max(end, stop)
    return busy


def judge_trace_diagnoses(observation: Observation, seed: int) -> Verdict:
    """Compare the diagnosis of every trace, and report the first that differs."""
    answer = TABLE.answer(seed, observation.facts["answers"])
    if answer.is_right:
        return Verdict(PASSED, "", f"{len(answer.values)} traces diagnosed")
    return TABLE.explain(
        answer,
        expected=f'"{answer.truth}" for {_describe(answer.case)}',
        measured=f'"{answer.value}"',
        otherwise="You tell the four apart by something else. Ask in this order: is the device busy? If not, what is "
        "the CPU doing meanwhile? If it is, which of the two rates do its kernels use up?",
    )


def _describe(case: TraceCase) -> str:
    events = case.events()
    start = min(event["ts"] for event in events if event["name"] == "ProfilerStep#1")
    later = [event for event in events if event["ts"] >= start]
    kernels = [event for event in later if event["cat"] == "kernel"]
    window = max(kernel["ts"] + kernel["dur"] for kernel in kernels) - start
    loading = sum(event["dur"] for event in later if "DataLoader" in event["name"])
    mean = sum(kernel["dur"] for kernel in kernels) / len(kernels)
    return (
        f"a trace whose device is busy for {busy_time(kernels) / window:.0%} of the time after the first step, with "
        f"{len(kernels)} kernels of {mean:.3g} µs on average, and loading for {loading / window:.0%}"
    )


def _run(diagnose: Callable[..., str], case: TraceCase) -> str:
    return diagnose(case.events(), case.flops_per_second, case.bytes_per_second)


def _if_shorter(limit: int) -> str:
    return f'    if {MEAN} < {limit}:\n        return "launch"\n{IF_IDLE}'


START = 'min(event["ts"] for event in events if event["name"] == "ProfilerStep#1")'
NOT_BUSY = "busy < BUSY * (end - start)"
IF_IDLE = f"    if {NOT_BUSY}:"
UNION = "busy_time(kernels)\n"
DATA = '"data" if loading > idle / 2 else "launch"'
SIDE = '"compute" if computing > moving else "memory"'
NAMED = 'sum(kernel["dur"] for kernel in kernels if "gemm" in kernel["name"]) > busy / 2'
COUNTED = (
    'sum(kernel["args"]["flops"] / flops_per_second > kernel["args"]["bytes"] / bytes_per_second '
    "for kernel in kernels) > len(kernels) / 2"
)
MEAN = 'sum(kernel["dur"] for kernel in kernels) / len(kernels)'
LAUNCHING = 'sum(event["dur"] for event in later if event["cat"] == "cuda_runtime" and "aunch" in event["name"])'
LOADING = 'sum(event["dur"] for event in later if "DataLoader" in event["name"])'

TABLE = ReferenceTable(
    (diagnose, busy_time),
    Misconception(
        "one_diagnosis_for_all",
        "You return the same word for every trace. Ask first whether the device is busy.",
        {NOT_BUSY: "False", SIDE: '"compute"'},
        variants=[
            {NOT_BUSY: "False", SIDE: '"memory"'},
            {NOT_BUSY: "True", DATA: '"launch"'},
            {NOT_BUSY: "True", DATA: '"data"'},
        ],
    ),
    Misconception(
        "gaps_ignored",
        "You look at the kernels alone. A device that is idle for most of the time is bound by what it waits for.",
        {NOT_BUSY: "False"},
    ),
    Misconception(
        "warm_up_included",
        "You include the first step, in which libraries load and workers start. Begin where `ProfilerStep#1` begins.",
        {START: 'min(event["ts"] for event in events)'},
    ),
    Misconception(
        "durations_added",
        "You add up the durations of kernels. Two streams run at the same time, so count the time in which at least "
        "one kernel runs.",
        {UNION: 'sum(kernel["dur"] for kernel in kernels)\n'},
    ),
    Misconception(
        "loading_counted_while_the_device_works",
        "You look for long loading first. While the device works on what was launched before, loading costs nothing: "
        "ask first whether the device is idle.",
        {NOT_BUSY: f"{NOT_BUSY} or {LOADING} > (end - start) / 2"},
        variants=[{NOT_BUSY: f"{NOT_BUSY} or {LOADING} > (end - start) * {share}"} for share in (0.1, 0.25, 0.4)],
    ),
    Misconception(
        "launch_calls_added",
        "You add up the durations of launches. Where the queue is full, a launch waits for the device, which is busy.",
        {NOT_BUSY: f"{NOT_BUSY} or {LAUNCHING} > (end - start) * 0.3"},
        variants=[{NOT_BUSY: f"{NOT_BUSY} or {LAUNCHING} > (end - start) * {share}"} for share in (0.2, 0.4, 0.5)],
    ),
    Misconception(
        "short_kernels_launch_bound",
        "You call a trace launch bound because its kernels are short. A graph launches short kernels without gaps: "
        "look at the gaps.",
        {IF_IDLE: _if_shorter(10)},
        variants=[{IF_IDLE: _if_shorter(limit)} for limit in (8, 12, 15, 20)],
    ),
    Misconception(
        "every_gap_is_loading",
        "You take every idle device for one that waits for data. Look at what the CPU does in the gaps.",
        {DATA: '"data"'},
    ),
    Misconception(
        "every_gap_is_launching",
        "You take every idle device for one that waits for launches. Look at what the CPU does in the gaps.",
        {DATA: '"launch"'},
    ),
    Misconception(
        "names_of_kernels_decide",
        "You take kernels with `gemm` in their name for compute bound. Products with few rows are bound by bandwidth, "
        "and libraries give products other names. Use `flops` and `bytes`.",
        {SIDE: f'"compute" if {NAMED} else "memory"'},
    ),
    Misconception(
        "kernels_counted",
        "You count kernels. A few long ones may take most of the time: weigh each by the time that it needs.",
        {SIDE: f'"compute" if {COUNTED} else "memory"'},
    ),
    Misconception(
        "rates_of_one_device",
        "You use a fixed ratio of FLOPs to bytes. The ridge is a property of the device: use the two rates that your "
        "function receives.",
        {SIDE: '"compute" if computing * flops_per_second > 153 * moving * bytes_per_second else "memory"'},
        variants=[
            {SIDE: '"compute" if computing * flops_per_second > 100 * moving * bytes_per_second else "memory"'},
        ],
    ),
    Misconception(
        "flops_compared_with_bytes",
        "You compare FLOPs with bytes. Divide each by its rate first: only times can be compared.",
        {SIDE: '"compute" if computing * flops_per_second > moving * bytes_per_second else "memory"'},
    ),
    Misconception(
        "faster_side_named",
        "You name the side that has time to spare. The larger of the two times bounds the kernels.",
        {SIDE: '"memory" if computing > moving else "compute"'},
    ),
    hard_coded(trace_cases),
    run=_run,
    cases=trace_cases,
)

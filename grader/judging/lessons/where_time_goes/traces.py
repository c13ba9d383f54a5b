"""Judges what a learner makes of a trace."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from grader.judging.misconceptions import Misconception
from grader.judging.references import ReferenceTable, hard_coded
from grader.lessons.where_time_goes.traces import Event, TraceCase, trace_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

BUSY = 0.7  # as the contract says; no trace has a share between 0.66 and 0.72
SIDES = ("compute", "memory")


def diagnose(events: Sequence[Event], flops_per_second: float, bytes_per_second: float) -> str:
    """Return what bounds the steps after the first one."""
    start = min(event["ts"] for event in events if event["name"] == "ProfilerStep#1")
    later = [event for event in events if event["ts"] >= start]
    kernels = [event for event in later if event["cat"] == "kernel"]
    loads = [event for event in later if "DataLoader" in event["name"]]
    gaps = find_gaps(kernels, start)
    end = max(kernel["ts"] + kernel["dur"] for kernel in kernels)
    idle = sum(stop - begin for begin, stop in gaps)
    busy = end - start - idle
    if busy < BUSY * (end - start):
        loading = sum(common_time(load, gap) for load in loads for gap in gaps)
        return "data" if loading > idle / 2 else "launch"
    computing = sum(kernel["args"]["flops"] for kernel in kernels) / flops_per_second
    moving = sum(kernel["args"]["bytes"] for kernel in kernels) / bytes_per_second
    return "compute" if computing > moving else "memory"


def find_gaps(kernels: Sequence[Event], start: float) -> list[tuple[float, float]]:
    """Return from when to when no kernel runs."""
    gaps, until = [], start
    for kernel in sorted(kernels, key=lambda kernel: float(kernel["ts"])):
        if kernel["ts"] > until:
            gaps.append((until, kernel["ts"]))
        until = max(until, kernel["ts"] + kernel["dur"])
    return gaps


def common_time(load: Event, gap: tuple[float, float]) -> float:
    """Return the microseconds of a gap in which a batch is loaded."""
    common: float = min(load["ts"] + load["dur"], gap[1]) - max(load["ts"], gap[0])
    return max(0.0, common)


def judge_trace_diagnoses(observation: Observation, seed: int) -> Verdict:
    """Compare the diagnosis of every trace, and report the first that differs."""
    answer = TABLE.answer(seed, observation.facts["answers"])
    if answer.is_right:
        return Verdict(PASSED, "", f"{len(answer.values)} traces diagnosed")
    expected = f'"{answer.truth}" for {_describe(answer.case)}'
    return TABLE.explain(answer, expected=expected, measured=f'"{answer.value}"', otherwise=OTHERWISE)


def _describe(case: TraceCase) -> str:
    events = case.events()
    start = min(event["ts"] for event in events if event["name"] == "ProfilerStep#1")
    kernels = [event for event in events if event["cat"] == "kernel" and event["ts"] >= start]
    gaps = find_gaps(kernels, start)
    idle = sum(stop - begin for begin, stop in gaps)
    loads = [event for event in events if "DataLoader" in event["name"]]
    loading = sum(common_time(load, gap) for load in loads for gap in gaps)
    computing = sum(kernel["args"]["flops"] for kernel in kernels) / case.flops_per_second
    moving = sum(kernel["args"]["bytes"] for kernel in kernels) / case.bytes_per_second
    window = max(kernel["ts"] + kernel["dur"] for kernel in kernels) - start
    return (
        f"a trace whose device is busy for {1 - idle / window:.0%} of the time from step 1 on, with {len(kernels)} "
        f"kernels that need {computing * 1e3:.3g} ms to compute and {moving * 1e3:.3g} ms to move bytes; while it is "
        f"idle, the loader runs for {loading / idle:.0%} of the time"
    )


def _run(diagnose: Callable[..., str], case: TraceCase) -> str:
    return diagnose(case.events(), case.flops_per_second, case.bytes_per_second)


def _if_shorter(limit: int) -> str:
    return f'    if {MEAN} < {limit}:\n        return "launch"\n{IF_IDLE}'


OTHERWISE = (
    "You explain the gaps otherwise. Print for how long the loader runs while no kernel does, and half of the time in "
    "which no kernel runs."
)
START = 'min(event["ts"] for event in events if event["name"] == "ProfilerStep#1")'
STEP = 'for event in later if event["name"].startswith("ProfilerStep")'
GAPS = "gaps = find_gaps(kernels, start)"
END = 'max(kernel["ts"] + kernel["dur"] for kernel in kernels)'
LAST = 'max(event["ts"] + event["dur"] for event in events)'
BUSY_TIME = "busy = end - start - idle"
NOT_BUSY = "busy < BUSY * (end - start)"
IF_IDLE = f"    if {NOT_BUSY}:"
PAIRS = "for load in loads for gap in gaps"
IN_GAPS = f"common_time(load, gap) {PAIRS}"
MORE = "loading > idle / 2"
DATA = f'"data" if {MORE} else "launch"'
SIDE = '"compute" if computing > moving else "memory"'
ALL = 'for kernel in events if "flops" in kernel["args"]'
SUMS = {f'"{key}"] for kernel in kernels': f'"{key}"] {ALL}' for key in ("flops", "bytes")}
NAMED = 'sum(kernel["dur"] for kernel in kernels if "gemm" in kernel["name"]) > busy / 2'
ABOVE = 'kernel["args"]["flops"] / flops_per_second > kernel["args"]["bytes"] / bytes_per_second'
MEAN = 'sum(kernel["dur"] for kernel in kernels) / len(kernels)'
LAUNCHING = 'sum(event["dur"] for event in later if event["cat"] == "cuda_runtime" and "aunch" in event["name"])'
LOADING = 'sum(load["dur"] for load in loads)'
RUNTIME = 'sum(event["dur"] for event in later if event["cat"] == "cuda_runtime")'
AT_FULL_RATE = (
    'busy = 1e6 * max(sum(kernel["args"]["flops"] for kernel in kernels) / flops_per_second, '
    'sum(kernel["args"]["bytes"] for kernel in kernels) / bytes_per_second)'
)

TABLE = ReferenceTable(
    (diagnose, find_gaps, common_time),
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
        variants=[{NOT_BUSY: "False", **SUMS}],
    ),
    Misconception(
        "warm_up_included",
        "You include the first step, in which libraries load, workers start and kernels are tried. Begin where "
        "`ProfilerStep#1` begins, also with the sums.",
        {START: 'min(event["ts"] for event in events)'},
        variants=[{START: 'min(event["ts"] for event in events if "flops" in event["args"])'}, SUMS],
    ),
    Misconception(
        "wait_for_the_first_kernel_left_out",
        "You leave out the time before the first kernel of step 1, in which the device is idle, too. Begin where "
        "`ProfilerStep#1` begins.",
        {GAPS: f'start = kernels[0]["ts"]\n    {GAPS}'},
        variants=[
            {GAPS: 'gaps = find_gaps(kernels, kernels[0]["ts"])'},
            {START: 'max(event["ts"] + event["dur"] for event in events if event["name"] == "ProfilerStep#1")'},
        ],
    ),
    Misconception(
        "window_ends_elsewhere",
        "You stop counting before or after the end of the last kernel. The CPU may finish its last step earlier, and "
        "may go on loading for longer.",
        {END: f'max(event["ts"] + event["dur"] {STEP})'},
        variants=[
            {END: LAST},
            {NOT_BUSY: f"busy < BUSY * ({LAST} - start)"},
            {NOT_BUSY: f'busy < BUSY * sum(event["dur"] {STEP})'},
        ],
    ),
    Misconception(
        "durations_added",
        "You add up the durations of kernels. Two streams run at the same time, so count the time in which at least "
        "one kernel runs.",
        {BUSY_TIME: 'busy = sum(kernel["dur"] for kernel in kernels)'},
    ),
    Misconception(
        "another_stream_ignored",
        "You overlook that a kernel on another stream may still run. The device is idle only while no kernel of any "
        "stream runs: remember the latest end so far.",
        {'max(until, kernel["ts"] + kernel["dur"])': 'kernel["ts"] + kernel["dur"]'},
        variants=[
            {END: 'kernels[-1]["ts"] + kernels[-1]["dur"]'},
            {'"kernel"]': '"kernel" and event["args"]["stream"] == 7]'},
            {BUSY_TIME: 'busy = sum(e["dur"] for e in kernels) / len({e["args"]["stream"] for e in kernels})'},
        ],
    ),
    Misconception(
        "judged_by_the_roofline",
        "You take the time that the kernels would need at the device's full rates for the time in which it is busy. "
        "Kernels take longer: use their `dur`.",
        {BUSY_TIME: AT_FULL_RATE},
        variants=[
            {BUSY_TIME: f"{AT_FULL_RATE}\n    idle = end - start - busy", IN_GAPS: 'load["dur"] for load in loads'}
        ],
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
        variants=[{NOT_BUSY: f"{NOT_BUSY} or {LAUNCHING} > (end - start) * {share}"} for share in (0.2, 0.4)],
    ),
    Misconception(
        "short_kernels_launch_bound",
        "You call a trace launch bound because its kernels are short. A graph launches short kernels without gaps: "
        "look at the gaps.",
        {IF_IDLE: _if_shorter(10)},
        variants=[{IF_IDLE: _if_shorter(limit)} for limit in (8, 15, 20, 30, 50)],
    ),
    Misconception(
        "every_gap_is_loading",
        'You return "data" for every idle device. Look at what the CPU does in the gaps.',
        {DATA: '"data"'},
    ),
    Misconception(
        "every_gap_is_launching",
        'You return "launch" for every idle device. Look at what the CPU does in the gaps, and for how long.',
        {DATA: '"launch"'},
    ),
    Misconception(
        "loading_not_cut_to_the_gaps",
        "You count loads, or gaps, as wholes. Count the time in which the loader runs and no kernel does: cut each "
        "load to the gaps.",
        {IN_GAPS: 'load["dur"] for load in loads'},
        variants=[
            {IN_GAPS: f'load["dur"] {PAIRS} if gap[0] <= load["ts"] < gap[1]'},
            {IN_GAPS: f"gap[1] - gap[0] {PAIRS} if common_time(load, gap)"},
        ],
    ),
    Misconception(
        "loading_compared_with_another_time",
        "You compare loading with something else than half of the time in which no kernel runs. The rest of the time "
        "says nothing about the gaps.",
        {MORE: "loading > (end - start) / 2"},
        variants=[
            {MORE: "loading > busy / 2"},
            {MORE: f"{LOADING} > (end - start) / 2"},
            {MORE: f"{LOADING} > {RUNTIME}"},
        ],
    ),
    Misconception(
        "another_limit",
        "You use another limit than the contract: 70 % of the time for the device, half of the idle time for loading.",
        {"BUSY * (end": "0.8 * (end"},
        variants=[
            *({"BUSY * (end": f"{limit} * (end"} for limit in (0.5, 0.6, 0.9)),
            *({MORE: f"loading > idle * {limit}"} for limit in (0.25, 0.3, 0.7, 0.75)),
        ],
    ),
    Misconception(
        "names_of_kernels_decide",
        "You take kernels with `gemm` in their name for compute bound. Products with few rows are bound by bandwidth, "
        "and libraries give products other names. Use `flops` and `bytes`.",
        {SIDE: f'"compute" if {NAMED} else "memory"'},
    ),
    Misconception(
        "kernels_judged_one_by_one",
        "You judge kernels one by one. Each uses up both rates: add up the FLOPs of all kernels, and the bytes of all, "
        "and then compare the two times.",
        {SIDE: f'"compute" if sum({ABOVE} for kernel in kernels) > len(kernels) / 2 else "memory"'},
        variants=[
            {SIDE: f'"compute" if sum(kernel["dur"] * ({ABOVE}) for kernel in kernels) > busy / 2 else "memory"'},
        ],
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
        "You compare numbers that are not times. Divide the FLOPs by their rate and the bytes by theirs before you "
        "compare.",
        {SIDE: '"compute" if computing * flops_per_second > moving * bytes_per_second else "memory"'},
    ),
    Misconception(
        "faster_side_named",
        "You name the side that has time to spare. The larger of the two times bounds the kernels.",
        {SIDE: '"memory" if computing > moving else "compute"'},
    ),
    hard_coded(trace_cases),
    Misconception(
        "busy_taken_for_idle",
        "You take an idle device for busy, or a busy one for idle. Print the share of the time of all steps in which "
        "your code finds a kernel running. Look at when you start and stop counting, and at kernels that overlap.",
        shown_by=lambda answer: (answer.truth in SIDES) != (answer.value in SIDES),
    ),
    Misconception(
        "other_sums_compared",
        "You name the other side. Print the two times that you compare: each is a sum over all kernels, divided by one "
        "rate of the device.",
        shown_by=lambda answer: answer.truth in SIDES,
    ),
    run=_run,
    cases=trace_cases,
)

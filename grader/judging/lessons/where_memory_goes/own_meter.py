"""Verdict on a meter of the learner's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import accumulate
from typing import Any

from grader.judging.lessons.where_memory_goes.deviations import Deviation, Recogniser
from grader.judging.lessons.where_memory_goes.operator_trace import Replay, trace_of
from grader.judging.lessons.where_memory_goes.other_units import other_unit
from grader.judging.lessons.where_memory_goes.wording import say_bytes
from grader.lessons.where_memory_goes.own_meter import WatchedStep, watched_step_cases
from grader.meters.allocation import AllocationMeter
from grader.observation import Observation
from grader.verdict import PASSED, UNRECOGNISED, Verdict

VISIBLE_SEED = 0  # of the cases that a learner has seen
_EXISTING_LET_GO = 7  # the place of the case that lets go what existed before

EXPECTED_WATCH = "one call of `step`, each of its operators seen by your Watch"
EVERYTHING = "all results of all operators, added up: which of them are new memory, and when is it freed?"
VIEWS = "views: two tensor objects, how many storages?"
IN_PLACE = "an in-place operator: its result is an argument that comes back. Does it allocate?"
PEAK = "the line that computes the peak: the most bytes that were ever held at once."

DEVIATIONS = (
    Deviation(
        "everything_added_up",
        {"key": "nothing", "older": "counted", "released": "never"},
        EVERYTHING,
    ),
    Deviation(
        "everything_added_up",
        {"key": "nothing", "older": "counted", "released": "never", "size": "tensor"},
        EVERYTHING,
    ),
    Deviation("nothing_released", {"released": "never"}, "when a storage dies: who tells your meter?"),
    Deviation(
        "released_with_tensor",
        {"released": "tensor"},
        "the object that you watch die: a storage outlives the tensor where another tensor shares it.",
    ),
    Deviation(
        "released_more_than_once",
        {"announced": "every"},
        "a storage that comes back as a view or in place: how often do you ask to hear of its end?",
    ),
    Deviation("every_result_counted", {"key": "nothing", "older": "counted"}, IN_PLACE),
    Deviation(
        "existing_storages_counted",
        {"older": "counted"},
        "storages that existed before the call: how do you tell that an operator did not allocate its result?",
    ),
    Deviation(
        "arguments_counted", {"older": "added"}, "what goes into an operator: was it allocated in this call of step?"
    ),
    Deviation("views_counted", {"key": "tensor"}, VIEWS),
    Deviation("views_counted", {"key": "tensor", "released": "tensor"}, VIEWS),
    Deviation(
        "views_at_an_offset_counted",
        {"key": "address"},
        "the address that you compare: a view may begin in the middle of its storage.",
    ),
    Deviation("elements_for_bytes", {"size": "elements"}, "bytes of one element: are all elements of one size?"),
    Deviation(
        "tensor_size_for_storage",
        {"size": "tensor"},
        "a tensor with gaps between its rows: memory is allocated for the storage.",
    ),
    Deviation("first_result_only", {"results": "first"}, "operators that return several tensors."),
    Deviation("held_at_the_end", {"read": "end"}, PEAK),
    Deviation("held_at_the_end", {"read": "last"}, PEAK),
    Deviation(
        "read_before_counting",
        {"read": "before"},
        "the order in your report: is the newest result counted when you look for the peak?",
    ),
    Deviation("largest_result_only", {"read": "largest"}, "results that are alive at the same time."),
    Deviation(
        "one_operator_only",
        {"read": "operator"},
        "results that stay alive after their operator, and arguments that existed before the call.",
    ),
)


@cache
def true_peaks(seed: int) -> tuple[int, ...]:
    """Return the peak above entry of every case, measured."""
    peaks = []
    for case in watched_step_cases(seed):
        step, meter = case.make_step(), AllocationMeter()
        with meter:
            step()
        peaks.append(meter.peak_bytes)
    return tuple(peaks)


def make_recogniser(seed: int) -> Recogniser:
    """Return the recogniser of meters with other rules."""
    traces = [trace_of(case.make_step()) for case in watched_step_cases(seed)]
    return Recogniser(DEVIATIONS, lambda rules: [Replay(rules).read(events) for events in traces])


def judge_own_meter(observation: Observation, seed: int) -> Verdict:
    """Judge that the learner's meter watched each step, and that its peaks are right to the byte."""
    settings, cases, truths = observation.facts["settings"], watched_step_cases(seed), true_peaks(seed)
    for facts in settings:
        verdict = _judge_watch(facts)
        if verdict:
            return verdict
    answers = [facts["peak_bytes"] for facts in settings]
    for case, answer, truth in zip(cases, answers, truths, strict=True):
        if answer != truth:
            calls = max(facts["calls"] for facts in settings)
            deviation = _recognise(answers, truths, seed) or _otherwise(answers, truths, calls)
            expected = f"{say_bytes(truth)} for {_describe(case)}"
            return Verdict(deviation.code, expected, say_bytes(answer), deviation.look_at)
    measured = f"{len(cases)} peaks, equal to the course's meter to the byte; the largest is {say_bytes(max(truths))}"
    return Verdict(PASSED, f"{len(cases)} peaks to the byte", measured)


def _judge_watch(facts: Mapping[str, Any]) -> Verdict | None:
    """Say what else than the learner's own mode measured the step, if anything did."""
    if not facts["calls"]:
        return Verdict("step_not_called", EXPECTED_WATCH, "no call of `step`", "where your function calls `step`")
    libraries = [name for name in facts["watchers"] if name.startswith(("grader.", "torch."))]
    if libraries:
        measured, look_at = f"the meter {libraries[0]}", "the task: your own meter, on Watch and weak references"
        return Verdict("library_meter_used", EXPECTED_WATCH, measured, look_at)
    if facts["is_profiled"]:
        look_at = "the task: your own meter, on Watch and weak references"
        return Verdict("profiler_used", EXPECTED_WATCH, "torch.profiler", look_at)
    if not facts["watchers"]:
        measured = "a call of `step` outside of any Watch"
        look_at = "`with Watch(report):` sees the operators of the calls within its block"
        return Verdict("operators_not_watched", EXPECTED_WATCH, measured, look_at)
    if facts["is_left_on"]:
        look_at = "`with`: it ends a Watch, also after an error"
        return Verdict("watch_left_on", "no Watch after your function", "a Watch that still runs", look_at)
    return None


def _recognise(answers: list[float], truths: Sequence[int], seed: int) -> Deviation | None:
    recogniser = make_recogniser(seed)
    return (
        _known_pattern(answers, truths)
        or recogniser.recognise(answers)
        or _loose_pattern(answers, truths)
        or recogniser.recognise_most(answers, truths)
    )


def _known_pattern(answers: Sequence[float], truths: Sequence[int]) -> Deviation | None:
    """Recognise answers that follow from the right peaks, and not from other rules of counting."""
    if not any(answers):
        look_at = "the counter stays 0: does the function that Watch calls reach it, and keep what it adds?"
        return Deviation("nothing_counted", {}, look_at)
    if list(answers) == list(accumulate(truths, max)):
        look_at = "what your meter remembers of the last call: each call of it begins with nothing"
        return Deviation("earlier_calls_remembered", {}, look_at)
    wrong = [index for index, truth in enumerate(truths) if answers[index] != truth]
    if wrong == [_EXISTING_LET_GO] and answers[wrong[0]] < truths[wrong[0]]:
        look_at = "a storage that existed before the call and dies in it: its key may come back. What do you remember?"
        return Deviation("dead_arguments_remembered", {}, look_at)
    if list(answers) == list(true_peaks(VISIBLE_SEED)):
        look_at = "numbers that are right for other steps: what does your meter see of this one?"
        return Deviation("visible_case_hard_coded", {}, look_at)
    return other_unit(answers, truths)


def _loose_pattern(answers: list[float], truths: Sequence[int]) -> Deviation | None:
    """Recognise a meter that takes new storages for dead ones: how many depends on the addresses that are used again.

    The last case drops and allocates the most. The fourth and the sixth drop nothing before their peaks.
    """
    is_too_small = all(answer <= truth for answer, truth in zip(answers, truths, strict=True))
    if is_too_small and answers[-1] < truths[-1] and answers[3:6:2] == list(truths[3:6:2]):
        look_at = "the key by which you know a storage: after it dies, a new storage may get the same key"
        return Deviation("keys_outlive_storages", {}, look_at)
    return None


def _otherwise(answers: Sequence[float], truths: Sequence[int], calls: int) -> Deviation:
    if calls > 1:
        look_at = "how often your function calls `step`: a second call finds what the first has left"
        return Deviation("step_called_again", {}, look_at)
    right = sum(answer == truth > 0 for answer, truth in zip(answers, truths, strict=True))
    if right and all(answer >= truth for answer, truth in zip(answers, truths, strict=True)):
        look_at = "storages that have died: who tells your meter, and does it still count them?"
        return Deviation("more_than_is_held", {}, look_at)
    if right:
        look_at = f"your meter is right for {right} other steps: what does this one do that they do not?"
        return Deviation("wrong_for_some_steps", {}, look_at)
    return Deviation(UNRECOGNISED, {}, "one step by hand: which storages are alive after each of its operators?")


def _describe(case: WatchedStep) -> str:
    return f"{case.what} ({case.rows} rows, {case.width} features)"

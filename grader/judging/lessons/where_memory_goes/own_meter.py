"""Judges a meter of the learner's own."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from grader.judging.lessons.where_memory_goes.byte_counts import format_byte_count
from grader.judging.misconceptions import Misconception, Table
from grader.judging.references import Answer, ReferenceTable, hard_coded
from grader.lessons.where_memory_goes.own_meter import Step, WatchedStep, watched_step_cases
from grader.meters.storages import tensors_in
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

EXISTING_LET_GO = 7  # the place of the case that lets go what existed before
NOTHING_DIES_BEFORE_PEAK = (3, 5)  # the places of cases that need no storage to be released

Report = Callable[[list[Tensor], list[Tensor]], None]


class Watch(TorchDispatchMode):
    """Reports the tensors that went into each operator and those that came out, as the lesson's Watch does."""

    def __init__(self, report: Report) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.report = report

    def __torch_dispatch__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Run the operator and report its tensors."""
        result = func(*args, **(kwargs or {}))
        self.report(_with_gradients(tensors_in((args, kwargs or {}))), _with_gradients(tensors_in([result])))
        return result


def _with_gradients(tensors: Iterable[Tensor]) -> list[Tensor]:
    gradients = [(tensor, tensor.grad if tensor.is_leaf else None) for tensor in tensors]
    return [each for pair in gradients for each in pair if each is not None]


def peak_above_entry(step: Step) -> float:
    """Return the most bytes that a call of `step` allocates and holds at once."""
    held: dict[int, int] = {}
    peak = 0

    def report(went_in: list[Tensor], came_out: list[Tensor]) -> None:
        nonlocal peak
        older = {tensor.untyped_storage()._cdata for tensor in went_in}
        for tensor in came_out:
            storage, key = tensor.untyped_storage(), tensor.untyped_storage()._cdata
            if key in older or key in held:
                continue
            held[key] = storage.nbytes()
            weakref.finalize(storage, held.pop, key)
        peak = max(peak, sum(held.values()))

    with Watch(report):
        step()
    return peak


# The parts of the reference that misconceptions edit.
OLDER = "older = {tensor.untyped_storage()._cdata for tensor in went_in}"
RESULTS = "for tensor in came_out:"
KEY = "tensor.untyped_storage(), tensor.untyped_storage()._cdata"
IS_KNOWN = "if key in older or key in held:"
SIZE = "storage.nbytes()"
HELD = "held[key] = storage.nbytes()"
RELEASE = "weakref.finalize(storage, held.pop, key)"
PEAK = "peak = max(peak, sum(held.values()))"
RETURNED = "return peak"
NONE_IS_KNOWN = "key = object()\n            if False:"


def _remembers_earlier_calls(answer: Answer) -> bool:
    truths = answer.table.truths(answer.seed)
    return list(answer.values) == list(accumulate(truths, max)) != truths


def _remembers_dead_arguments(answer: Answer) -> bool:
    return answer.wrong == [EXISTING_LET_GO] and answer.value < answer.truth


def _outlives_storages(answer: Answer) -> bool:
    """Return whether the meter misses new storages where others have died: how many depends on reused addresses.

    The last case drops and allocates the most.
    """
    truths = answer.table.truths(answer.seed)
    is_too_small = all(value <= truth for value, truth in zip(answer.values, truths, strict=True))
    return is_too_small and len(truths) - 1 in answer.wrong and not {*NOTHING_DIES_BEFORE_PEAK} & {*answer.wrong}


TABLE = ReferenceTable(
    (peak_above_entry,),
    Misconception(
        "nothing_counted",
        "Your counter stays 0. Look at whether your report reaches it: an assignment inside a nested function makes a "
        "new name, unless it is declared `nonlocal`.",
        {HELD: "held[key] = 0"},
    ),
    Misconception(
        "everything_added_up",
        "You add up all results of all operators. Count those that are new storages, and subtract each when it is "
        "freed.",
        {IS_KNOWN: NONE_IS_KNOWN, RELEASE: "pass"},
        variants=[{IS_KNOWN: NONE_IS_KNOWN, RELEASE: "pass", HELD: "held[key] = tensor.nbytes"}],
    ),
    Misconception(
        "nothing_released",
        "You never subtract a storage that is freed, or you hold it yourself, so it is never freed. "
        "Let weakref.finalize tell your meter.",
        {RELEASE: "report.__dict__.setdefault('kept', []).append(storage)"},
    ),
    Misconception(
        "released_with_tensor",
        "You stop counting when a tensor object dies, but another tensor may still use its storage. "
        "Watch the storage die.",
        {RELEASE: "weakref.finalize(tensor, held.pop, key, None)"},
    ),
    Misconception(
        "every_result_counted",
        "You count every result as new memory. A view and an in-place operator return a storage that exists already.",
        {IS_KNOWN: NONE_IS_KNOWN},
    ),
    Misconception(
        "existing_storages_counted",
        "You count storages that existed before the call when an operator returns them. "
        "What went into an operator was not allocated by it.",
        {OLDER: "older = set()"},
    ),
    Misconception(
        "arguments_counted",
        "You count what goes into an operator, too. Count results only: arguments existed before or are counted "
        "already.",
        {OLDER: "older = set()", RESULTS: "for tensor in [*went_in, *came_out]:"},
    ),
    Misconception(
        "views_counted",
        "You compare tensor objects, so you count a view as new memory. Compare their storages.",
        {
            OLDER: "older = {id(tensor) for tensor in went_in}",
            KEY: "tensor.untyped_storage(), id(tensor)",
            RELEASE: "weakref.finalize(tensor, held.pop, key)",
        },
        variants=[
            {
                OLDER: "older = {id(tensor) for tensor in went_in}",
                KEY: "tensor, id(tensor)",
                HELD: "held[key] = tensor.nbytes",
            },
        ],
    ),
    Misconception(
        "views_at_an_offset_counted",
        "You compare `tensor.data_ptr()`, which differs for a view that begins inside its storage. "
        "Compare `untyped_storage()._cdata`.",
        {
            OLDER: "older = {tensor.data_ptr() for tensor in went_in}",
            KEY: "tensor.untyped_storage(), tensor.data_ptr()",
        },
    ),
    Misconception(
        "elements_for_bytes",
        "You count elements. Return bytes: an element may take 1, 2, 4 or 8 of them.",
        {HELD: "held[key] = tensor.numel()"},
    ),
    Misconception(
        "tensor_size_for_storage",
        "You count the bytes of the tensor's elements. A storage with gaps between the rows takes more: "
        "count `storage.nbytes()`.",
        {HELD: "held[key] = tensor.nbytes"},
    ),
    Misconception(
        "first_result_only",
        "You count the first result of an operator only. Operators such as sort and max return several tensors.",
        {RESULTS: "for tensor in came_out[:1]:"},
    ),
    Misconception(
        "held_at_the_end",
        "You return what is held at the end. Return the most that was held at any moment.",
        {RETURNED: "return sum(held.values())"},
        variants=[{PEAK: "peak = sum(held.values())"}],
    ),
    Misconception(
        "read_before_counting",
        "You look for the peak before you count the newest result. Exchange the order in your report.",
        {OLDER: f"{PEAK}\n        {OLDER}", PEAK: "pass"},
    ),
    Misconception(
        "largest_result_only",
        "You return the largest single result. Add up all results that are held at the same time.",
        {PEAK: "peak = max(peak, *held.values(), 0)"},
    ),
    Misconception(
        "one_operator_only",
        "You return the largest sum of one operator's arguments and results. Results of earlier operators may still "
        "be held, and arguments that existed before the call do not count.",
        {PEAK: "peak = max(peak, sum(tensor.untyped_storage().nbytes() for tensor in [*went_in, *came_out]))"},
    ),
    Misconception(
        "another_unit_for_bytes",
        "You return MiB, MB or GiB. Return bytes.",
        {RETURNED: "return peak / 2**20"},
        variants=[{RETURNED: "return peak / 10**6"}, {RETURNED: "return peak / 2**30"}],
    ),
    hard_coded(watched_step_cases),
    Misconception(
        "earlier_calls_remembered",
        "You keep the peak of earlier calls. Let each call of your meter begin with nothing.",
        shown_by=_remembers_earlier_calls,
    ),
    Misconception(
        "dead_arguments_remembered",
        "You remember the keys of storages that existed before the call, also after they have died. "
        "A new storage may get such a key: ask about the arguments of the current operator only.",
        shown_by=_remembers_dead_arguments,
    ),
    Misconception(
        "keys_outlive_storages",
        "You miss new storages after others have died. A new storage may get the key of a dead one: forget a key when "
        "its storage dies.",
        shown_by=_outlives_storages,
    ),
    run=lambda measure, case: measure(case.make_step()),
    cases=watched_step_cases,
)


@dataclass(frozen=True)
class Watched:
    """Who watched one step.

    Attributes:
        facts: What was recorded.
        is_peak_right: Whether the peak is right.
    """

    facts: Mapping[str, Any]
    is_peak_right: bool

    @property
    def calls(self) -> int:
        """How often the step was called."""
        return int(self.facts["calls"])

    @property
    def library(self) -> str:
        """A meter of a library that watched the step, or nothing."""
        return next((name for name in self.facts["watchers"] if name.startswith(("grader.", "torch."))), "")


WATCHED = Table[Watched](
    Misconception(
        "step_not_called",
        "You never call `step`. Call it with brackets, within the Watch.",
        shown_by=lambda watched: not watched.calls,
        measured="no call of `step`",
    ),
    Misconception(
        "library_meter_used",
        "You let a finished meter measure the step. Write your own with Watch and weakref.finalize.",
        shown_by=lambda watched: bool(watched.library),
        measured="the meter {library}",
    ),
    Misconception(
        "profiler_used",
        "You let torch.profiler measure the step. Write a meter of your own with Watch and weakref.finalize.",
        shown_by=lambda watched: bool(watched.facts["is_profiled"]),
        measured="torch.profiler",
    ),
    Misconception(
        "operators_not_watched",
        "You call `step` without a Watch around it. Call it in the block of `with Watch(report):`.",
        shown_by=lambda watched: not watched.facts["watchers"],
        measured="a call of `step` outside of any Watch",
    ),
    Misconception(
        "watch_left_on",
        "You enter a Watch and never leave it. Use `with`, which ends it after an error, too.",
        shown_by=lambda watched: bool(watched.facts["is_left_on"]),
        expected="no Watch after your function",
        measured="a Watch that still runs",
    ),
    Misconception(
        "step_called_again",
        "You call `step` {calls} times, and a later call finds what the first one left behind. Call it once.",
        shown_by=lambda watched: watched.calls > 1 and not watched.is_peak_right,
        measured="{calls} calls of `step`",
    ),
)


def judge_own_meter(observation: Observation, seed: int) -> Verdict:
    """Judge that the learner's meter watched each step, and that its peaks are right to the byte."""
    settings = observation.facts["settings"]
    answer = TABLE.answer(seed, [facts["peak_bytes"] for facts in settings])
    for index, facts in enumerate(settings):
        watched = Watched(facts, index not in answer.wrong)
        verdict = WATCHED.judge(watched, "one call of `step`, each of its operators seen by your Watch")
        if verdict:
            return verdict
    if answer.is_right:
        largest = format_byte_count(max(answer.values))
        measured = f"{len(settings)} peaks, equal to the course's meter to the byte; the largest is {largest}"
        return Verdict(PASSED, f"{len(settings)} peaks to the byte", measured)
    case: WatchedStep = answer.case
    right = len(settings) - len(answer.wrong)
    return TABLE.explain(
        answer,
        expected=f"{format_byte_count(answer.truth)} for {case.what} ({case.rows} rows, {case.width} features)",
        measured=f"{format_byte_count(answer.value)}; {right} of {len(settings)} steps are right",
        otherwise="You count other storages than those that are alive. "
        "List by hand what is alive after each operator of this step.",
    )

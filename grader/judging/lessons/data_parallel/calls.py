"""Verdict on the predicted all-reduces of one update, and their bytes."""

from __future__ import annotations

from collections.abc import Sequence

from grader.judging.lessons.data_parallel.call_mistakes import BYTE_MISTAKES, CALL_MISTAKES, predict, tensors_of
from grader.judging.numbers import Mistake, failed, recognise
from grader.lessons.data_parallel.calls import CallsCase, calls_cases
from grader.observation import Observation
from grader.verdict import PASSED, Verdict

VISIBLE_SEED = 0


def judge_data_parallel_calls(observation: Observation, seed: int) -> Verdict:
    """Compare the two numbers of every update with those that DistributedDataParallel makes."""
    cases = calls_cases(seed)
    answers = [(float(calls), float(size)) for calls, size in observation.facts["predicted"]]
    for part, mistakes in enumerate((CALL_MISTAKES, BYTE_MISTAKES)):
        seen = [answer[part] for answer in answers]
        for case, answer in zip(cases, seen, strict=True):
            wanted = predict(case)[part]
            if answer != wanted:
                mistake = recognise(mistakes, cases, seen, relative=1e-6) or _hard_coded(seen, part) or _constant(seen)
                expected, measured = f"{_say(wanted, part)} for {_describe(case)}", f"{_say(answer, part)}"
                return failed(mistake, expected, measured, _OTHERWISE[part])
    return Verdict(
        PASSED, "calls and bytes of every update", f"{len(cases)} updates, each with its calls and its bytes"
    )


_OTHERWISE = (
    "the list of buckets of one backward; then, how many backwards of the update synchronise",
    "the bytes of all trained gradients; then, how many backwards of the update synchronise",
)


def _hard_coded(seen: Sequence[float], part: int) -> Mistake[CallsCase] | None:
    if list(seen) != [predict(case)[part] for case in calls_cases(VISIBLE_SEED)]:
        return None
    return Mistake("visible_case_hard_coded", lambda c: 0, "numbers that are right for other models: compute them")


def _constant(seen: Sequence[float]) -> Mistake[CallsCase] | None:
    if len(set(seen)) > 1:
        return None
    return Mistake("same_for_all", lambda c: 0, "the answer is the same for every update: what does it depend on?")


def _say(number: float, part: int) -> str:
    return f"{number:,.10g} {'bytes' if part else 'all-reduce' if number == 1 else 'all-reduces'}"


def _describe(case: CallsCase) -> str:
    sizes = ", ".join(f"{size:,}" for size, _ in tensors_of(case))
    frozen = f" ({len(case.frozen)} frozen)" if case.frozen else ""
    return f"tensors of {sizes} bytes{frozen}, buckets of {case.bucket_bytes:,}, k = {case.k}, no_sync {case.no_sync}"
